#pragma once
// Finds references to addresses that an edit would move. Layer: elf, private to it.

#include <set>
#include <string>
#include <vector>

#include "elf/slice/code_references.h"

namespace ptpkg::elf {

/// Names the first user of `places`: a relocation, a dynamic symbol, or code that refers to them by a
/// distance. In a program linked to fixed addresses, code can also use the address. "" if there is none. Only
/// dynamic symbols count if ptpkg cannot read the machine's relocations and code. `starts`: addresses in the
/// places where something begins; other numbers in code do not count as addresses. Empty: everywhere.
/// REQUIRES: `places` ascend without overlap, and image.dynamic. Errors: kCorrupt, kIo. Cost: reads all code.
Result<std::string> FindAddressReference(File& file, const Image& image,
                                         const std::vector<AddressRange>& places,
                                         const std::set<std::uint64_t>& starts = {});

}  // namespace ptpkg::elf
