#pragma once
// Variant files: keys, values and zip_keys. Layer: variant.
// Formats: variants.yaml as rattler-build reads it, conda_build_config.yaml of conda-build;
// docs/recipe-reference.md, "Variants".

#include <map>
#include <string>
#include <vector>

#include "recipe/document/value.h"
#include "support/files/fs.h"
#include "versions/pin.h"

namespace ptpkg::variant {

/// One axis of the matrix: a key, or several keys of one zip_keys group, whose values change together.
struct Axis {
  struct Column {
    std::string key;  ///< A NormalizedKey.
    std::vector<recipe::Value> values;
  };
  std::vector<Column> columns;  ///< At least one; all of the same, non-zero length.

  [[nodiscard]] std::size_t size() const { return columns.front().values.size(); }
};

struct VariantConfig {
  std::vector<Axis> axes;  ///< In the order in which the files name their first key.
  std::map<std::string, versions::PinBounds>
      run_pins;  ///< pin_run_as_build; has python (x.x, x.x) unless a file replaces it.
};

/// A value that stands for all values of a key, and the words of the user that name it.
struct KeySetting {
  std::string value;
  std::vector<std::string> origins;  ///< "DESIRED_CUDA=cu118"; at least one.
};
using KeySettings = std::map<std::string, KeySetting>;  ///< By NormalizedKey.

/// Reads and merges the files. A key of a later file replaces the same key of an earlier one, or adds to it
/// if `extend_keys` names it. `target_platform` is not an axis: a file must list the platform of this run.
///
/// A file called conda_build_config.yaml follows conda-build's rules. Comments hold selectors, which see
/// `environment`. Numbers are text. A key can have a single value instead of a list, or none, and zip_keys
/// can name keys without values.
///
/// A key of `settings` has this one value. If zip_keys pair it with others, the rows that list the value
/// stay. A value that no row lists takes the place of the old one if one row is left, or if `settings` has
/// all keys of the group.
///
/// Errors: kNotFound.
/// kInvalidInput with a span: syntax, a key without a list of values, a zip_keys group with an unknown key, a
/// key in two groups, or lists of unequal length.
/// kUsage: a setting that would leave several rows of a group.
/// kUnsupported: a file for other platforms only, and keys of conda-build that ptpkg does not carry out.
Result<VariantConfig> LoadVariantConfig(Fs& fs, const std::vector<AbsPath>& files,
                                        const std::string& target_platform,
                                        const std::map<std::string, std::string>& environment,
                                        const KeySettings& settings = {});

}  // namespace ptpkg::variant
