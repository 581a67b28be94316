#pragma once
// Extracts the symbol tables of an ELF file into a small one. Layer: elf, private to it.

#include <vector>

#include "elf/read/image.h"

namespace ptpkg::elf {

/// The interpreter, dynamic section, strings, dynamic symbols, hash tables, version tables and notes of the
/// open file. They form a separate file, byte for byte and at their addresses, without code, data and
/// relocations. LIEF reads a whole file and models every relocation: 2.6 s and 634 MB for a library of 448
/// MB, 0.1 s for this one. In the dynamic section, omitted tables get a tag without meaning. Only the section
/// header of the dynamic symbols stays, for their number. LIEF finds all else like the loader. REQUIRES:
/// image.dynamic. Errors: kCorrupt, kIo.
Result<std::vector<std::uint8_t>> ExtractNameTables(File& file, const Image& image);

}  // namespace ptpkg::elf
