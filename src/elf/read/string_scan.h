#pragma once
// Finds library names among the constants of a file. Layer: elf.

#include <string>
#include <vector>

#include "elf/read/image.h"

namespace ptpkg::elf {

/// Texts "<name>.so[.<version>]" in read-only data, sorted, each once: whole strings, the last component of a
/// string that is a path, or what stands before the conversion of a format ("libx.so." of "libx.so.%d"). A
/// name inside a longer text (an error message) does not count, and neither does one that the compiler spread
/// over instructions. Looks into sections .rodata*; without section headers into all segments that are loaded
/// read-only. Device code
/// (.nv_fatbin) is passed over. Cost: one pass over these ranges, 1 MiB of memory; at most 4096 names are
/// kept. Errors: kCorrupt for a range that leaves the file, kIo.
Result<std::vector<std::string>> ScanLibraryNames(File& file, const Image& image);

}  // namespace ptpkg::elf
