#pragma once
// Host code that goes by a distance from itself, which no relocation tells of. Layer: elf, private to it.
// Source: Intel SDM volume 2, "RIP-Relative Addressing"; i386 psABI, "Position-Independent Code"; Arm ARM,
// ADR, ADRP, ADD (immediate), loads with an unsigned offset; z/Architecture Principles of Operation, RIL
// formats; 64-Bit ELF V2 ABI of Power, "TOC Pointer"; RISC-V ISA manual, AUIPC.

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
  /// Code may hold the addresses themselves: the program is linked to fixed ones. Read in code of x86.
  bool are_fixed = false;
  /// An immediate may be any number: it counts only if it is one of these. Empty: every address of `places`
  /// counts.
  std::set<std::uint64_t> starts = {};
};

[[nodiscard]] bool IsX86(const Image& image);

/// The address of the first instruction in a section with code that goes to one of the places:
/// - x86-64: an operand `place(%rip)`; if places are fixed, an immediate or displacement that is the place;
/// - i386: the distance of the place from the global offset table as immediate or displacement; the place
///   itself if places are fixed;
/// - AArch64: `adr`, `adrp` to a page of a whole that has a place, `adrp` with an `add` or a load somewhere
///   behind it; RISC-V `auipc` and Power `addis` from the TOC pointer likewise;
/// - z/Architecture: `larl`, and what loads, stores or compares relative to itself.
/// nullopt when none does, and for other machines (Arm's 32-bit code among them). Decoding tells operands of
/// x86 from bytes that only look like one: of 48 instruction streams that begin up to 64 bytes before, most
/// have to come by. Streams that begin anywhere fall into step within a few instructions. Where 8,192 bytes
/// look like one in a section, the next one counts. Errors: kCorrupt (a section that passes the end of the
/// file), kIo. Cost: reads all code.
Result<std::optional<std::uint64_t>> FindCodeReference(File& file, const Image& image,
                                                       const ReferencedRanges& targets);

}  // namespace ptpkg::elf
