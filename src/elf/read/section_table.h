#pragma once
// Checks an ELF file like tools that rely on section headers (strip, objdump, patchelf). The dynamic loader
// reads no section headers, so the editor does without. Commands that replace such a tool call it. Layer:
// elf. Source: System V gABI chapter 4 "Sections" and the checks of patchelf 0.19.

#include <string>
#include <vector>

#include "elf/read/image.h"

namespace ptpkg::elf {

/// True if the section has bytes in the file.
[[nodiscard]] inline bool HasBytes(const Section& section) {
  return section.type != 0 && section.type != kSectionNobits && section.size != 0;
}

/// The table that section headers take their names from; it ends with a NUL. REQUIRES: `image` has sections.
/// Errors: kCorrupt for a table that is missing, not closed, or larger than 16 MiB. kIo.
Result<std::string> ReadSectionNames(File& file, const Image& image);

/// Why the tables of headers and the sections of `image` contradict each other. Either one passes the end of
/// the file, or two share bytes, so that an edit could update only one of them. "" when they agree.
std::string FindSharedBytes(const Image& image);

/// End of the last byte that a header names: tables of headers, sections, segments.
std::uint64_t EndOfNamedBytes(const Image& image);

/// Checks the section name table, and place, alignment and closing byte of .dynamic, .dynstr and .gnu.hash
/// according to their section headers. Returns warnings: sections without a name. A file without section
/// headers has nothing to check. Errors: kCorrupt naming the section, kIo. Cost: the name table (up to 16
/// MiB) and a few bytes.
Result<std::vector<std::string>> CheckSectionTable(File& file, const Image& image);

}  // namespace ptpkg::elf
