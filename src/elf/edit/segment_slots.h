#pragma once
// Finds slots for additional program headers. Layer: elf, private to it.

#include <optional>
#include <vector>

#include "elf/edit/header_room.h"

namespace ptpkg::elf {

struct SlotRequest {
  std::size_t wanted = 0;                 ///< Segments to add.
  std::vector<std::size_t> emptied = {};  ///< Segments to drop, by index.
  MappedRange needs = {};                 ///< .gnu.version_r, which must not lie in the moved block.
};

struct SegmentSlots {
  std::vector<Segment> kept = {};       ///< The old segments that stay, in order; merged ones are one.
  std::size_t count = 0;                ///< Length of the table: at least `kept` and those to add.
  std::optional<HeaderRoom> room = {};  ///< Block that moves so that the table lengthens in place.
  bool is_short = false;                ///< The old slots alone did not suffice.
  bool moves_headers = false;           ///< The table moves to the end, as the last resort.
};

/// Tries in this order:
/// - unused slots and the slots of `emptied`
/// - in a library the slot of PT_PHDR
/// - room behind the table, unless code or data refers to its content
/// - neighbouring PT_LOADs that one can map
///
/// Errors: kUnsupported (65,535 segments), kCorrupt, kIo.
Result<SegmentSlots> FindSegmentSlots(File& file, const Image& image, const SlotRequest& request);

/// Sections that move, by index.
using MovedSections = std::vector<std::size_t>;

struct EmptiedSegments {
  std::vector<std::size_t> dropped = {};  ///< PT_LOADs that map nothing else, and PT_GNU_RELRO inside them.
  bool leaves_bytes = false;              ///< One stays without a section: its other bytes have a user.
};

/// Finds the PT_LOADs whose sections all move. binutils writes a PT_LOAD without sections at an offset that
/// ld.so refuses ("ELF load command address/offset not page-aligned"). Never returns the PT_LOAD that maps
/// the program headers, nor segment `extended`. Errors: kIo.
Result<EmptiedSegments> FindEmptied(File& file, const Image& image, const MovedSections& moved,
                                    std::optional<std::size_t> extended);

}  // namespace ptpkg::elf
