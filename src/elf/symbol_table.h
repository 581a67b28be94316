#pragma once
// What .symtab says about sections that an edit moved. Layer: elf, private to it.

#include <cstdint>
#include <map>
#include <vector>

#include "elf/edit.h"

namespace ptpkg::elf {

/// The writes that give the symbols of .symtab which lie in moved sections their new value: _DYNAMIC, symbols
/// of sections, names that start-up code gives to notes. `moved`: section index → by how much its address
/// grew (modulo 2^64). Nobody needs them to run the file; debuggers and eu-elflint compare them.
/// Errors: kCorrupt (a table that leaves the file), kIo. Cost: reads .symtab, where the file has one.
Result<std::vector<PlannedWrite>> PlanSymbolValues(File& file, const Image& image,
                                                   const std::map<std::size_t, std::uint64_t>& moved);

}  // namespace ptpkg::elf
