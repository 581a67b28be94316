#pragma once
// Normalises the dynamic section for comparison. Layer: inspect. Source: System V gABI chapter 5 "Dynamic
// Section"; elf/elf.h of glibc for the other tags.

#include <string>
#include <vector>

#include "elf/read/image.h"

namespace ptpkg::inspect {

/// Each entry as text, sorted: "FLAGS_1 0x8", "FILTER libx.so". A tag whose value is an address is listed
/// without it: "INIT". The list omits the entries that elf::LinkFacts has (NEEDED, SONAME, the search path
/// that ld.so obeys) and STRSZ, which changes with any name. Empty for a file without a dynamic section.
/// Errors: kCorrupt for names outside the string table, kIo.
Result<std::vector<std::string>> DynamicEntryTexts(File& file, const elf::Image& image);

}  // namespace ptpkg::inspect
