#pragma once
// What reaches the terminal: results on stdout, everything else on stderr. Layer: cli. No other file of
// the program writes to either.

#include <cstddef>
#include <string_view>

namespace ptpkg::cli {

enum class ColorChoice : unsigned char { kAuto, kAlways, kNever };

/// One result line, or a JSON document. A closed pipe ends the program quietly, as for any filter.
void PrintResult(std::string_view text);
/// One line of log or diagnostics, with the line break added.
void PrintLog(std::string_view line);
/// Raw text to stderr, for the progress line.
void PrintLogRaw(std::string_view text);

[[nodiscard]] bool StderrIsTerminal();
/// Columns of the terminal on stderr; 80 when unknown.
[[nodiscard]] int TerminalWidth();
/// Columns for --help: those of the terminal on stdout, at most 100; 80 without one.
[[nodiscard]] std::size_t HelpWidth();

}  // namespace ptpkg::cli
