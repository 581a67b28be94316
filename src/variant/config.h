#pragma once
// Variant files: keys, values and zip_keys. Layer: variant. Format: variants.yaml as rattler-build reads it;
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

/// Reads and merges the files: a key of a later one replaces the same key of an earlier one.
/// Errors: kNotFound; kInvalidInput with a span: syntax, a key without a list of values, a zip_keys group
/// with an unknown key, a key of two groups, or lists of unequal length; kUnsupported for a
/// conda_build_config.yaml, whose selectors are comments.
Result<VariantConfig> LoadVariantConfig(Fs& fs, const std::vector<AbsPath>& files,
                                        const std::string& target_platform);

}  // namespace ptpkg::variant
