#pragma once
// Completion scripts for shells, made of the command line's description. Layer: cli.

#include <string>

#include "cli/command_line.h"

namespace ptpkg::cli {

/// Each is a whole file for the shell's directory of completions: verbs, options, their choices, files,
/// directories.
[[nodiscard]] std::string BashCompletion(const Program& program);
[[nodiscard]] std::string ZshCompletion(const Program& program);
[[nodiscard]] std::string FishCompletion(const Program& program);

}  // namespace ptpkg::cli
