#pragma once
// Renders one output of a recipe for one choice of variant values. Layer: variant.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "recipe/recipe.h"
#include "variant/choice.h"
#include "variant/other_outputs.h"

namespace ptpkg::variant {

/// An output, evaluated for a choice.
struct Rendered {
  std::set<std::size_t> open;  ///< Axes that it needs a choice on. If there are any, the rest is empty.
  recipe::Recipe recipe = {};  ///< With hash and variant.
  std::map<std::string, recipe::Value> used;  ///< Keys that enter the hash.
  bool ignores_keys = false;                  ///< build.variant.ignore_keys is not empty.
  /// It does not evaluate, and `select` leaves it out: `recipe` has its name and variant alone.
  bool refused = false;
};

/// Renders outputs, each once per choice. An output can pin or inherit others, which are then rendered for
/// the same choice.
class OutputRenderer {
 public:
  /// `inputs` is borrowed.
  explicit OutputRenderer(const RenderInputs& inputs) : inputs_(inputs) {}

  /// The output `index` for `choice`, valid as long as this object. Errors: kInvalidInput for outputs that
  /// need each other to be rendered; errors of recipe::Evaluate and StagingOutput.
  Result<const Rendered*> Render(std::size_t index, const Choice& choice);

 private:
  class Others;

  Result<Rendered> Make(std::size_t index, const Choice& choice);
  Result<const Rendered*> Inherited(const recipe::Evaluation& heir, const Choice& choice,
                                    ChosenValues& values);

  const RenderInputs& inputs_;
  std::vector<std::size_t> active_;  ///< Outputs that are being rendered, each for the one before it.
  std::map<std::pair<std::size_t, Choice>, Rendered> rendered_;
};

}  // namespace ptpkg::variant
