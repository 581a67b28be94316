#pragma once
// Host code that computes an address by its distance from itself, which no relocation tells of. Layer: elf,
// private to it. Source: Intel SDM volume 2, LEA and "RIP-Relative Addressing"; Arm ARM, ADR, ADRP, ADD
// (immediate).

#include <optional>
#include <vector>

#include "elf/image.h"

namespace ptpkg::elf {

/// The address of the first instruction in a section with code that computes one of `targets` (ascending):
/// `lea target(%rip)` of x86-64, also what linkers make of loads from the GOT; `adr`, and `adrp` with an
/// `add` among the next four instructions, of AArch64. nullopt when none does. Bytes that only look like one
/// count: of 100 MB of code none is expected to, by the bits that are compared. REQUIRES: 64-bit,
/// little-endian, one of these machines. Errors: kCorrupt (a section that passes the end of the file), kIo.
/// Cost: reads all code.
Result<std::optional<std::uint64_t>> FindCodeReference(File& file, const Image& image,
                                                       const std::vector<std::uint64_t>& targets);

}  // namespace ptpkg::elf
