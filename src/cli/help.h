#pragma once
// The texts that --help and man pages show of a program's description. Layer: cli. docs/cli/<verb>.md shows
// the same.

#include <string>

#include "cli/command_line.h"

namespace ptpkg::cli {

/// "ptpkg build [OPTIONS] RECIPE..."; the line of the whole program for a null verb.
[[nodiscard]] std::string UsageLine(const Program& program, const Verb* verb);

/// "-o, --output DIR", "--env auto|system|conda", "RECIPE...".
[[nodiscard]] std::string OptionHead(const Option& option);

/// The option's help, its choices where the head does not show them, its default and its variable:
/// "Write artifacts to DIR [default: dist]".
[[nodiscard]] std::string OptionText(const Option& option);

/// The part of a help page below the options: notes, options of every verb, examples.
[[nodiscard]] std::string HelpFooter(const Program& program, const Verb* verb, std::size_t width);

/// The page of one verb, or of the program for a null verb, in lines of at most `width` columns (examples and
/// long words excepted). Ends without a line break.
[[nodiscard]] std::string HelpText(const Program& program, const Verb* verb, std::size_t width);

}  // namespace ptpkg::cli
