#pragma once
// Host code that goes by a distance from itself, which no relocation tells of. Layer: elf, private to it.
// Source: Intel SDM volume 2, "RIP-Relative Addressing"; Arm ARM, ADR, ADRP, ADD (immediate), loads with an
// unsigned offset.

#include <optional>
#include <set>
#include <vector>

#include "elf/image.h"

namespace ptpkg::elf {

struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t size_bytes = 1;
};

/// What code is searched for.
struct CodeTargets {
  std::vector<AddressRange> places = {};  ///< Ascending, none overlap.
  std::vector<AddressRange> wholes = {};  ///< Nothing else lies in these.
  /// Code may hold the addresses themselves: the program is linked to fixed ones. Read in code of x86-64.
  bool are_fixed = false;
  /// An immediate may be any number: it counts only if it is one of these. Empty: every address of `places`
  /// counts.
  std::set<std::uint64_t> starts = {};
};

/// The address of the first instruction in a section with code that goes to one of the places: of x86-64 one
/// with an operand `place(%rip)`, or whose immediate or displacement is the place if places are fixed; of
/// AArch64 `adr`, `adrp` to a page of a whole that has a place, and `adrp` with an `add` or a load somewhere
/// behind it. nullopt when none does. Decoding tells operands of x86-64 from bytes that only look like one:
/// of 48 instruction streams that begin up to 64 bytes before, most have to come by. Streams that begin
/// anywhere fall into step within a few instructions. Where 8,192 bytes look like one in a section, the next
/// one counts. REQUIRES: 64-bit, little-endian, one of these machines. Errors: kCorrupt (a section that
/// passes the end of the file), kIo. Cost: reads all code.
Result<std::optional<std::uint64_t>> FindCodeReference(File& file, const Image& image,
                                                       const CodeTargets& targets);

}  // namespace ptpkg::elf
