#pragma once
// Maps conda requirements to wheels of the Python index. Layer: builder. The rows: data/wheels.yaml, and the
// Python packages of tool_table.h.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::builder {

struct WheelRow {
  enum class Kind : std::uint8_t {
    kPart,     ///< `extras` of the toolkit's package, unpacked into the toolkit's directory.
    kFolder,   ///< `package`, unpacked into the toolkit's directory.
    kPackage,  ///< `package`, installed by pip.
  };
  Kind kind = Kind::kPackage;
  std::vector<std::string> extras = {};  ///< kPart.
  /// The package of the index whose version a requirement's constraint is compared with. kFolder: may hold
  /// "{major}", which stands for the toolkit's.
  std::string package;
  std::string program = {};   ///< Below BUILD_PREFIX; "" = none is named to scripts.
  std::string variable = {};  ///< Environment variable with its path; "" = none.

  /// Part of the one directory that only one provider may fill.
  [[nodiscard]] bool IsToolkit() const { return kind != Kind::kPackage; }
};

struct WheelTable {
  std::string toolkit;             ///< "cuda-toolkit"
  std::string first_toolkit;       ///< "13.0": the earliest version that is whole.
  std::set<std::string> together;  ///< Packages whose version begins with the toolkit's first two fields.
  std::map<std::string, WheelRow> rows;
};

/// Errors: kInvalidInput with a span in `file`.
Result<WheelTable> ParseWheelTable(std::string_view yaml, const std::string& file);

/// The built-in table; parsed once.
const WheelTable& BuiltInWheelTable();

/// The row for a requirement; a compiler's platform is left out, as FindProvider does. nullopt: the index
/// does not have it, or nobody has looked.
std::optional<WheelRow> FindWheelRow(const WheelTable& table, std::string_view requirement);

}  // namespace ptpkg::builder
