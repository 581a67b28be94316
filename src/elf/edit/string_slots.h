#pragma once
// Tracks users and free ranges of .dynstr. Layer: elf. Linkers merge strings by their tails, so a name can
// begin inside another string. So only a string that nothing else points into can be overwritten (see
// patchelf's issue "shared rpath").

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf/read/image.h"

namespace ptpkg::elf {

/// A string of .dynstr and the room that belongs to it.
struct StringSlot {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  ///< Bytes before the NUL.
  /// Longest text that can replace it in place: its own bytes and the unreferenced NULs behind it. 0 when
  /// shared.
  std::uint64_t room = 0;
  /// Another string begins inside it, or it is itself the tail of a longer one. Also true when the number of
  /// dynamic symbols is unknown, because their names could then be inside it.
  bool shared = true;
};

struct StringSlots {
  std::vector<StringSlot> slots;  ///< One per requested offset, in the same order.
  /// First byte of the unused NULs at the table's end; equals the table's size when there are none.
  std::uint64_t spare_begin = 0;
};

/// Examines the strings at `offsets` and the spare room at the end of .dynstr. `other_uses`: offsets of
/// strings that stay in use (dynamic entries, version records), besides the names of dynamic symbols, which
/// it reads itself. Cost: one pass over .dynsym in 64 KiB pieces. Errors: kCorrupt, kIo.
Result<StringSlots> ExamineStrings(File& file, const Image& image, const std::vector<std::uint64_t>& offsets,
                                   const std::vector<std::uint64_t>& other_uses);

/// A half-open range of table offsets.
struct StringRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Offset in .dynstr of an existing `text` with its NUL, as a whole string or as the tail of one, overlapping
/// none of `avoid`. nullopt if there is none. Errors: kIo.
Result<std::optional<std::uint64_t>> FindString(File& file, const Image& image, std::string_view text,
                                                const std::vector<StringRange>& avoid);

/// Number of dynamic symbols: from the section header, DT_HASH, DT_GNU_HASH or DT_MIPS_SYMTABNO, the largest
/// that is present. nullopt if none is. Errors: kCorrupt, kIo.
Result<std::optional<std::uint64_t>> CountDynamicSymbols(File& file, const Image& image);

}  // namespace ptpkg::elf
