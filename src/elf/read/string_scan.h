#pragma once
// Finds library names among the constants of a file. Layer: elf.

#include <string>
#include <vector>

#include "elf/read/image.h"

namespace ptpkg::elf {

/// Texts "<name>.so[.<version>]" in read-only data, sorted, each once. A text is a whole string, the last
/// component of a string that is a path, or the part before the conversion of a format ("libx.so." of
/// "libx.so.%d"). A name inside a longer text (an error message) does not count, and neither does one that
/// the compiler spread over instructions. Scans sections .rodata*; without section headers, all segments that
/// are loaded read-only. Skips device code (.nv_fatbin). Cost: one pass over these ranges, 1 MiB of memory.
/// Keeps at most 4096 names. Errors: kCorrupt for a range that leaves the file, kIo.
Result<std::vector<std::string>> ScanLibraryNames(File& file, const Image& image);

}  // namespace ptpkg::elf
