// Tables of inspect, diff and slice. Layer: cli. A first pass finds the width of each column of this table, a
// second one fills it.

#include "cli/output/size_table.h"

#include <algorithm>
#include <fmt/core.h>

#include "cli/output/text_layout.h"
#include "support/text/display_text.h"
#include "support/text/text.h"

namespace ptpkg::cli {

std::vector<std::string> SizeTable(const std::string& title, const std::vector<SizeRow>& rows) {
  std::vector<std::string> lines;
  if (rows.empty()) return lines;
  lines.push_back(title);
  std::vector<std::size_t> widths;
  for (const SizeRow& row : rows) {
    widths.resize(std::max(widths.size(), row.cells.size()), 0);
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row.cells[i]));
    }
  }
  for (const SizeRow& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      // Numbers stand on the left, so that names of any length need no column.
      line += " " + std::string(widths[i] - DisplayWidth(row.cells[i]), ' ') + row.cells[i] + " ";
    }
    // Names come from artifacts and can hold escape sequences. Cells are texts of ptpkg.
    lines.push_back(line + " " + DisplayLine(row.name));
  }
  return lines;
}

std::string SignedBytes(std::uint64_t before, std::uint64_t after) {
  if (before == after) return HumanBytes(0);
  return after > before ? "+" + HumanBytes(after - before) : "-" + HumanBytes(before - after);
}

}  // namespace ptpkg::cli
