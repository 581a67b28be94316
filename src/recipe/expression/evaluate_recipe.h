#pragma once
// Evaluates a recipe for one variant. Layer: recipe.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "recipe/document/document.h"
#include "recipe/recipe.h"
#include "versions/pin.h"

namespace ptpkg::recipe {

/// Errors: kInvalidInput for a text that breaks the rule.
using TextCheck = std::function<Result<void>(const std::string&)>;

struct EvaluationInput {
  std::string target_platform;
  VariantValues& variants;
  const std::map<std::string, std::string>& environment;
  /// Seven hex digits. The hash covers what the evaluation reads, so a first evaluation runs with any
  /// text here.
  std::string hash;
  std::string string_prefix;  ///< "py311" of the default build string.
  /// Packages whose version in the host environment bounds a bare requirement of the same name in `run`.
  std::map<std::string, versions::PinBounds> run_pins;
  /// Checks that a text is a requirement of a wheel, for extra.ptpkg.wheel.requires: wheel/ knows the rule,
  /// but recipe/ may not include it. None: every text passes.
  TextCheck check_wheel_requirement = {};
  DetectedVersions detected = {};  ///< For the build string.
  OtherOutputs* others = nullptr;  ///< For an output; null for a recipe of one package.
  bool staging = false;            ///< The document belongs to a staging output.
  DataFiles* files = nullptr;      ///< For load_from_file(); null: it is refused.
};

struct Evaluation {
  Recipe recipe;  ///< All but hash, hash_input and variant. Skipped: name, version, number and skip only.
  std::vector<std::string> ignore_keys;  ///< build.variant.ignore_keys
  bool default_script = false;           ///< The recipe names no script.
  std::string inherit;                   ///< Name of the staging output that it inherits from; "": none.
  SourceSpan inherit_span = {};
};

/// Evaluates `document` with the values of `input.variants`. Errors: kInvalidInput with a span for undefined
/// names, missing required keys, and values of the wrong type or out of range. Also for requirements that do
/// not parse, and pins that only a solver could resolve. Also kUnsupported for the cases in
/// docs/recipe-reference.md.
Result<Evaluation> Evaluate(const Document& document, const EvaluationInput& input);

/// Name, version and `skip` alone: enough for a pin without 'exact' on this output. Errors: as Evaluate for
/// these keys and `context`.
Result<Recipe> EvaluateHead(const Document& document, const EvaluationInput& input);

}  // namespace ptpkg::recipe
