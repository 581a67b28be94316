#pragma once
// What tools that go by section headers (strip, objdump, patchelf) insist on. The dynamic loader reads none
// of it, so the editor does without; a command line that stands in for such a tool asks here. Layer: elf.
// Source: System V gABI chapter 4 "Sections"; the checks of patchelf 0.19.

#include <string>
#include <vector>

#include "elf/read/image.h"

namespace ptpkg::elf {

/// True if the section has bytes in the file.
[[nodiscard]] inline bool HasBytes(const Section& section) {
  return section.type != 0 && section.type != kSectionNobits && section.size != 0;
}

/// The table that section headers take their names from; it ends with a NUL. REQUIRES: `image` has sections.
/// Errors: kCorrupt for a table that is not there, not closed, or larger than 16 MiB; kIo.
Result<std::string> ReadSectionNames(File& file, const Image& image);

/// Why the tables of headers and the sections of `image` contradict each other: one passes the end of the
/// file, or two share bytes, so that they say two things of which only one could follow an edit. "" when they
/// do not.
std::string FindSharedBytes(const Image& image);

/// End of the last byte that a header names: tables of headers, sections, segments.
std::uint64_t EndOfNamedBytes(const Image& image);

/// Checks the section name table, and place, alignment and closing byte of .dynamic, .dynstr and .gnu.hash
/// as their section headers tell them. Returns warnings: sections without a name. A file without section
/// headers has nothing to check. Errors: kCorrupt naming the section, kIo.
/// Cost: the name table and a few bytes; the table may have 16 MiB.
Result<std::vector<std::string>> CheckSectionTable(File& file, const Image& image);

}  // namespace ptpkg::elf
