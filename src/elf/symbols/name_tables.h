#pragma once
// Extracts the symbol tables of an ELF file into a small one. Layer: elf, private to it.

#include <vector>

#include "elf/read/image.h"

namespace ptpkg::elf {

/// The interpreter, dynamic section, strings, dynamic symbols, hash tables, version tables and notes of the
/// open file, byte for byte and at their addresses, in a file of their own: no code, data and relocations.
/// LIEF reads a whole file and models every relocation: 2.6 s and 634 MB for a library of 448 MB, 0.1 s for
/// this. In the dynamic section the tags of what is left out become one that means nothing. Of the section
/// headers only that of the dynamic symbols stays, for their number; all else is found as the loader finds
/// it. REQUIRES: image.dynamic. Errors: kCorrupt, kIo.
Result<std::vector<std::uint8_t>> ExtractNameTables(File& file, const Image& image);

}  // namespace ptpkg::elf
