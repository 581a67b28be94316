#pragma once
// Reads and writes CSV like Python's csv module. Layer: support.

#include <functional>
#include <string>
#include <vector>

#include "support/result.h"

namespace ptpkg {

using CsvRow = std::vector<std::string>;

/// Fields holding comma, quote or line break are quoted, quotes doubled; the row ends with "\n".
std::string FormatCsvRow(const CsvRow& row);

/// Calls `on_row` for each nonempty row during the read: the callee decides how much stays in memory. Accepts
/// LF and CRLF, and line breaks inside quotes. Errors: any from `on_row`. Also kCorrupt at `name`:line:1 for
/// an open quote, text after a closing quote, and a row of more than 64 fields.
Result<void> ReadCsv(std::string_view text, const std::string& name,
                     const std::function<Result<void>(const CsvRow&)>& on_row);
/// All rows.
Result<std::vector<CsvRow>> ParseCsv(std::string_view text, const std::string& name);

}  // namespace ptpkg
