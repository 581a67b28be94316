#pragma once
// Evaluates a recipe for every variant of the matrix. Layer: variant.
// Matches: conda-build and rattler-build build hashes and build strings (docs/formats/build-string.md).

#include <map>
#include <string>
#include <vector>

#include "recipe/document/document.h"
#include "recipe/expression/evaluate_recipe.h"
#include "recipe/recipe.h"
#include "support/files/fs.h"
#include "variant/config.h"

namespace ptpkg::variant {

struct RenderOptions {
  std::vector<AbsPath>
      variant_files;  ///< Later files win per key. Empty: variants.yaml beside the recipe, if any.
  /// Only variants whose value of the key equals one of the values, "--select key=value". A key or
  /// value that no variant has is kUsage, with the nearest match. A variant that a key leaves out is not
  /// judged: the recipe may refuse it.
  std::map<std::string, std::vector<std::string>> select;
  KeySettings settings = {};  ///< See LoadVariantConfig.
  std::string target_platform = "linux-64";
  std::map<std::string, std::string> variables;    ///< For env.get() and env.exists().
  recipe::TextCheck check_wheel_requirement = {};  ///< See recipe::EvaluationInput.
  /// The same, for every variant; so names of packages that hold it are not compared here.
  recipe::DetectedVersions detected = {};
};

/// One recipe for each distinct combination of the keys that the recipe uses, in matrix order. Skipped
/// variants are returned with `skip` set. Errors: kInvalidInput with a span (unknown key, wrong type,
/// undefined name, zip_keys of unequal length), kNotFound (recipe or variant file), any from
/// LoadVariantConfig.
Result<std::vector<recipe::Recipe>> Render(Fs& fs, const AbsPath& recipe_path, const RenderOptions& options);

/// The keys of the variant files that Render reads. Errors: as Render for these files.
Result<std::vector<std::string>> VariantKeys(Fs& fs, const AbsPath& recipe_path,
                                             const RenderOptions& options);

/// Indexes, in order, of the `recipes` that `select` keeps. All `recipes` come from one recipe file;
/// `has_outputs` tells whether that file has outputs. `refused`: variants with known keys and values that no
/// selection keeps. Errors: kUsage for `select`, as Render.
Result<std::vector<std::size_t>> Selected(const std::vector<recipe::Recipe>& recipes,
                                          const std::map<std::string, std::vector<std::string>>& select,
                                          bool has_outputs, const std::vector<recipe::Recipe>& refused = {});

}  // namespace ptpkg::variant
