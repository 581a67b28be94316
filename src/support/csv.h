#pragma once
// CSV rows as Python's csv module writes and reads them: RECORD of a wheel. Layer: support.

#include <string>
#include <vector>

#include "support/result.h"

namespace ptpkg {

using CsvRow = std::vector<std::string>;

/// Fields holding comma, quote or line break are quoted, quotes doubled; the row ends with "\n".
std::string FormatCsvRow(const CsvRow& row);

/// Accepts LF and CRLF, and line breaks inside quotes. Errors: kCorrupt at `name`:line:1 for an open
/// quote or text after a closing quote.
Result<std::vector<CsvRow>> ParseCsv(std::string_view text, const std::string& name);

}  // namespace ptpkg
