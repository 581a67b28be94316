#pragma once
// Finds the outputs that an output pins or inherits, by name. Layer: variant.

#include <string>
#include <vector>

#include "recipe/document/data_files.h"
#include "recipe/expression/evaluate_recipe.h"
#include "recipe/outputs.h"
#include "recipe/recipe.h"
#include "variant/choice.h"
#include "variant/config.h"
#include "variant/render_variants.h"

namespace ptpkg::variant {

/// Inputs for all outputs and variants of one recipe file. All are borrowed.
struct RenderInputs {
  Fs& fs;
  const recipe::Document& document;
  const std::vector<recipe::OutputDocument>& outputs;  ///< Those of `document`.
  const VariantConfig& config;
  const RenderOptions& options;
  recipe::DataFiles& files;

  [[nodiscard]] bool HasOutputs() const { return document.root.Find("outputs") != nullptr; }
};

/// Texts that depend on the keys that an evaluation reads. The defaults are for an evaluation that finds
/// these keys.
struct HashTexts {
  std::string hash = "0000000";
  std::string prefix = {};  ///< Prefix of the build string.
};

/// Input for the output `index`, without the other outputs.
recipe::EvaluationInput InputOf(const RenderInputs& inputs, std::size_t index, ChosenValues& values,
                                const HashTexts& texts);

/// Index of the output that a pin in the output `self` names. Several outputs can share a name if all but one
/// skip. Opens in `asking` the axes that the heads of these outputs read. Errors: kInvalidInput if there is
/// no such output, or if it is skipped; errors of recipe::EvaluateHead.
Result<std::size_t> PinnedOutput(const RenderInputs& inputs, const std::string& name, std::size_t self,
                                 const Choice& choice, ChosenValues& asking);

/// Name, version and skip of the output `index`. Reading them opens axes of `asking`, but uses none of its
/// keys.
Result<recipe::Recipe> HeadOf(const RenderInputs& inputs, std::size_t index, const Choice& choice,
                              ChosenValues& asking);

/// Index of the staging output that `heir` names. Opens axes like PinnedOutput. Errors, with a span:
/// kInvalidInput if there is none or two outputs have the name, kUnsupported for a package output.
Result<std::size_t> StagingOutput(const RenderInputs& inputs, const recipe::Evaluation& heir,
                                  const Choice& choice, ChosenValues& asking);

/// Refuses a staging output that requires its own heir. `document` describes `staging`. Errors:
/// kInvalidInput with a span.
Result<void> CheckNotItself(const recipe::Evaluation& heir, const recipe::OutputDocument& document,
                            const recipe::Recipe& staging);

}  // namespace ptpkg::variant
