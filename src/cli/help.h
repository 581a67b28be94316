#pragma once
// What --help prints. Layer: cli. docs/cli/<verb>.md shows the same text.

#include <string>

#include "cli/command_line.h"

namespace ptpkg::cli {

/// "ptpkg build [OPTIONS] RECIPE..."; of the whole program for a null verb.
[[nodiscard]] std::string UsageLine(const Program& program, const Verb* verb);

/// "-o, --output DIR", "--env auto|system|conda", "RECIPE...".
[[nodiscard]] std::string OptionHead(const Option& option);

/// The option's help, and its choices where the head does not show them.
[[nodiscard]] std::string OptionText(const Option& option);

/// The page of one verb, or of the program for a null verb, in lines of at most `width` columns (a long word
/// excepted). Ends without a line break.
[[nodiscard]] std::string HelpText(const Program& program, const Verb* verb, std::size_t width);

}  // namespace ptpkg::cli
