#pragma once
// Tables of sizes in text: numbers in columns, names behind them. Layer: cli.

#include <string>
#include <vector>

namespace ptpkg::cli {

struct SizeRow {
  std::string name;
  std::vector<std::string> cells;  ///< Right-aligned, as many as the table has columns.
};

/// "title" and one line per row, two blanks before each; columns as wide as their widest cell. No lines
/// without rows. Control characters in names are shown, not sent.
std::vector<std::string> SizeTable(const std::string& title, const std::vector<SizeRow>& rows);

/// "-1.2 MB", "+310 B", "0 B".
std::string SignedBytes(std::uint64_t before, std::uint64_t after);

}  // namespace ptpkg::cli
