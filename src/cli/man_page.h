#pragma once
// Manual pages in roff (man(7)), made of the command line's description. Layer: cli.

#include <string>

#include "cli/command_line.h"

namespace ptpkg::cli {

/// "ptpkg(1)" for a null verb, else "ptpkg-<verb>(1)". `version`: for the footer. No date: equal programs
/// make equal pages.
[[nodiscard]] std::string ManPage(const Program& program, const Verb* verb, std::string_view version);

}  // namespace ptpkg::cli
