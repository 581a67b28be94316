#pragma once
// Lays out the tail that an edit appends to a file. Layer: elf, private to it.

#include <vector>

#include "elf/edit/segment_slots.h"
#include "elf/edit/string_placement.h"

namespace ptpkg::elf {

/// A file and the edit that it grows for.
struct GrowingFile {
  File& file;
  const Image& image;
  const NewDynamicState& state;
};

enum class StringsMode : std::uint8_t {
  kStay,      ///< The unchanged table has every new string.
  kContinue,  ///< The table ends the file and its segment: it only grows.
  kCopy,      ///< The table is copied to the tail, and grows there.
};

/// Place of the tail in the file and in memory.
struct TailPlace {
  bool extends = false;     ///< The last PT_LOAD grows; else a new one is added.
  std::uint64_t begin = 0;  ///< File offset.
  std::uint64_t vaddr = 0;  ///< Address of `begin`.
  std::uint64_t align = 0;  ///< Alignment of a new PT_LOAD.

  [[nodiscard]] std::uint64_t AddressOf(std::uint64_t offset) const { return vaddr + (offset - begin); }
};

/// Tables that move to the tail or grow there. The interpreter's name does if it changes.
struct TailMoves {
  StringsMode strings_mode = StringsMode::kStay;
  Placement placement = {};
  bool moves_dynamic = false;
  bool moves_needs = false;

  /// Bytes for the appended strings and spare room, when the old table ends at `at`.
  [[nodiscard]] std::uint64_t StringGrowth(std::uint64_t at) const;
};

/// Room for the program headers, and the tail's place, which depends on it.
struct TailHeaders {
  SegmentSlots slots = {};
  TailPlace place = {};
  bool has_tail = false;                    ///< Anything goes to the end at all.
  bool leaves_bytes = false;                ///< EmptiedSegments::leaves_bytes.
  std::vector<std::byte> block_bytes = {};  ///< Content of `slots.room`, which moves to the tail.
};

/// File offsets of the parts; 0 for those that stay.
struct TailParts {
  std::uint64_t headers = 0;
  std::uint64_t block = 0;  ///< TailHeaders::block_bytes.
  std::uint64_t dynamic = 0;
  std::uint64_t needs = 0;
  std::uint64_t interpreter = 0;
  std::uint64_t strings = 0;  ///< .dynstr in the new file, wherever it is.
  std::uint64_t end = 0;      ///< The new size of the file.
  std::size_t dynamic_capacity = 0;
};

/// Content of the tail, and its places.
struct TailLayout {
  TailMoves moves;
  TailHeaders headers;
  TailParts parts;

  [[nodiscard]] std::uint64_t AddressOf(std::uint64_t offset) const {
    return headers.place.AddressOf(offset);
  }
};

/// Index of the last PT_LOAD; the number of segments when there is none.
std::size_t LastLoad(const std::vector<Segment>& segments);

/// Errors: kUnsupported (no loadable segment, a table that has to move and cannot, 32-bit file past 4 GiB),
/// kCorrupt, kIo. Cost: reads all code where the dynamic section or a block behind the program headers moves.
Result<TailLayout> LayOutTail(const GrowingFile& growing);

}  // namespace ptpkg::elf
