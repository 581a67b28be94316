#pragma once
// Finds references to addresses that an edit would move. Layer: elf, private to it.

#include <set>
#include <string>
#include <vector>

#include "elf/slice/code_references.h"

namespace ptpkg::elf {

/// Names the first user of `places`: a relocation, a dynamic symbol, or code that goes there by a distance
/// or, in a program linked to fixed addresses, by the address. "" if there is none. Without relocations and
/// code that this program can read (32-bit, big-endian or another machine) only dynamic symbols count.
/// `starts`: where in the places something begins; other numbers in code are not taken for addresses. Empty:
/// everywhere. REQUIRES: `places` ascend without overlap; image.dynamic. Errors: kCorrupt, kIo. Cost: reads
/// all code.
Result<std::string> FindAddressReference(File& file, const Image& image,
                                         const std::vector<AddressRange>& places,
                                         const std::set<std::uint64_t>& starts = {});

}  // namespace ptpkg::elf
