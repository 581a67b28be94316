#pragma once
// Host code that goes by a distance from itself, which no relocation tells of. Layer: elf, private to it.
// Source: Intel SDM volume 2, "RIP-Relative Addressing" and the opcode maps; Arm ARM, ADR, ADRP, ADD
// (immediate), loads with an unsigned offset.

#include <optional>
#include <vector>

#include "elf/image.h"

namespace ptpkg::elf {

struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t size_bytes = 1;
};

/// The address of the first instruction in a section with code that computes an address in `targets`
/// (ascending, none overlap), or reads there: of x86-64 `lea`, also what linkers make of loads from the GOT,
/// and moves, comparisons and vector loads with an operand `target(%rip)`; of AArch64 `adr`, and `adrp` with
/// an `add` or a load among the next four instructions. nullopt when none does. Bytes that only look like one
/// count: with 5 targets for each of 476 containers, 180 MB of code are expected to have 0.05 such. REQUIRES:
/// 64-bit, little-endian, one of these machines. Errors: kCorrupt (a section that passes the end of the
/// file), kIo. Cost: reads all code.
Result<std::optional<std::uint64_t>> FindCodeReference(File& file, const Image& image,
                                                       const std::vector<AddressRange>& targets);

}  // namespace ptpkg::elf
