#pragma once
// Finds host code that refers to an address by its distance, without a relocation. Layer: elf, private to it.
// Sources:
// - Intel SDM volume 2, "RIP-Relative Addressing"
// - x86-64 psABI, "Large models", and i386 psABI, "Position-Independent Code"
// - Arm ARM, ADR, ADRP, ADD (immediate), loads with an unsigned offset, LDR (literal)
// - z/Architecture Principles of Operation, RIL formats
// - 64-Bit ELF V2 ABI of Power, "TOC Pointer"
// - RISC-V ISA manual, AUIPC and LUI

#include <optional>
#include <set>
#include <vector>

#include "elf/read/image.h"

namespace ptpkg::elf {

struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t size_bytes = 1;
};

/// Addresses that the search looks for in code.
struct ReferencedRanges {
  std::vector<AddressRange> places = {};  ///< Ascending, none overlap.
  std::vector<AddressRange> wholes = {};  ///< Ranges that hold nothing else.
  /// Code can hold the addresses themselves, because the program is linked to fixed ones. Applies to x86,
  /// AArch64 and RISC-V code.
  bool are_fixed = false;
  /// An immediate can be any number: it counts only if it is one of these. Empty: every address of `places`
  /// counts. On x86, common instructions with one of these count even behind data in the code.
  std::set<std::uint64_t> starts = {};
};

[[nodiscard]] bool IsX86(const Image& image);

/// The address of the first instruction in a section with code that refers to one of the places:
/// - x86-64: an operand `place(%rip)`, or `movabs` of the distance of the place from the global offset table
/// - x86-64 with fixed places: also an immediate or displacement that is the place
/// - i386: the distance of the place from the global offset table as immediate, or as displacement from a
///   register
/// - i386 with fixed places: also the place itself
/// - AArch64: `adr`, `ldr` of a literal, `adrp` to a page of a whole that has a place
/// - AArch64: `adrp` with an `add` or a load somewhere behind it; with fixed places also `movz` and `movk`
/// - RISC-V: `auipc` likewise, with fixed places also `lui`; Power: `addis` from the TOC pointer likewise
/// - z/Architecture: `larl`, and instructions that load, store or compare relative to themselves
///
/// nullopt if there is none, and for other machines (including Arm's 32-bit code). On x86, decoding separates
/// operands from bytes that only look like one. It decodes 48 instruction streams that begin up to 64 bytes
/// before; most must reach the operand. Streams that begin anywhere synchronise within a few instructions.
/// After 8,192 such bytes in a section, the next one counts. Data in the code can mislead all streams: a
/// 64-bit `lea` of a place, a `movabs`, and common instructions with one of `starts` need no streams.
/// Displacements from fs and gs are not addresses.
///
/// Not found: distances in data (`.long place - .`). Errors: kCorrupt (a section that passes the end of the
/// file), kIo. Cost: reads all code.
Result<std::optional<std::uint64_t>> FindCodeReference(File& file, const Image& image,
                                                       const ReferencedRanges& targets);

}  // namespace ptpkg::elf
