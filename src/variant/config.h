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

/// Reads and merges the files: a key of a later one replaces the same key of an earlier one, or adds to it if
/// `extend_keys` names it. A file called conda_build_config.yaml is read by conda-build's rules: selectors in
/// comments, which see `environment`; numbers are text; a key may have one value instead of a list, or none;
/// zip_keys may name keys that have no values. `target_platform` is no axis: of its values, the one of this
/// run counts.
/// Errors: kNotFound; kInvalidInput with a span: syntax, a key without a list of values, a zip_keys group
/// with an unknown key, a key of two groups, or lists of unequal length; kUnsupported for a file that is for
/// other platforms only, and for keys of conda-build that ptpkg does not carry out.
Result<VariantConfig> LoadVariantConfig(Fs& fs, const std::vector<AbsPath>& files,
                                        const std::string& target_platform,
                                        const std::map<std::string, std::string>& environment);

}  // namespace ptpkg::variant
