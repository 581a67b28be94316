#pragma once
// Parses Python entry points. Layer: versions. Source: conda-build's build.entry_points; conda common/path.py
// parse_entry_point_def.

#include <string>
#include <string_view>

#include "support/result.h"

namespace ptpkg::versions {

struct EntryPoint {
  std::string name;    ///< Name of the program in bin/.
  std::string module;  ///< "package.module"
  std::string object;  ///< "function" or "Class.method"

  /// "name = module:object".
  [[nodiscard]] std::string str() const;
  bool operator==(const EntryPoint&) const = default;
};

/// White space around the parts is dropped. Errors: kInvalidInput for another form, and for a name that is
/// not a single file name. Also for blanks, quotes and other characters in module or object that would change
/// the program made from them.
Result<EntryPoint> ParseEntryPoint(std::string_view text);

}  // namespace ptpkg::versions
