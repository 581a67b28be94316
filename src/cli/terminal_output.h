#pragma once
// Writes to the terminal: results on stdout, everything else on stderr. Layer: cli. No other file of the
// program writes to either. Masks remembered secrets (support/secret.h) in both.

#include <cstddef>
#include <string_view>

#include "cli/output/log_sink.h"

namespace ptpkg::cli {

/// One result line, or a JSON document. A closed pipe ends the program quietly with kClosedPipe, another
/// error with kIoFailed.
void PrintResult(std::string_view text);
/// One line of log or diagnostics, with the line break added.
void PrintLog(std::string_view line);

/// Columns for --help: the width of the terminal on stdout, at most 100; 80 without a terminal.
[[nodiscard]] std::size_t HelpWidth();

}  // namespace ptpkg::cli
