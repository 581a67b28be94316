#pragma once
// Checks the segments of a compact slice against its original. Layer: elf, private to it.

#include <map>
#include <vector>

#include "elf/slice/slice_compare.h"
#include "elf/slice/slice_moves.h"

namespace ptpkg::elf {

/// A file and its slice.
struct SlicePair {
  OpenImage old;
  OpenImage now;
};

/// Sections of containers.
struct DeviceSections {
  std::map<std::size_t, const ContainerMoves*> by_index = {};
  std::vector<const ContainerMoves*> smaller = {};  ///< The ones that got smaller, ascending by address.
};

/// Content other than containers that has another place in the slice.
struct MovedContent {
  std::map<std::size_t, std::uint64_t> growth = {};  ///< Section → by how much its address grew.
  MovesByPlace places;                               ///< Moves of sections that kept their address.

  /// By how much the segment's address grew: it begins with bytes of a section that moved.
  [[nodiscard]] std::uint64_t GrowthOf(const Image& original, const Segment& segment) const;
};

/// Ranges of the original without an equal range in the slice.
class SkippedRanges {
 public:
  void Add(std::uint64_t offset, std::uint64_t size);
  /// Merges overlapping ranges, so that Pass finds each gap between them once.
  void Merge();
  /// The end of the skipped range at `at`; else `at`, and `stop` is at most the begin of the next one.
  /// REQUIRES: Merge.
  [[nodiscard]] std::uint64_t Pass(std::uint64_t at, std::uint64_t& stop) const;

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  ///< Offset → end.
};

/// Checks the segments that are not loaded: the slice has the same ones, and they follow moved content.
/// Errors: kInternal.
Result<void> CheckOtherSegments(const SlicePair& files, const MovedContent& moved);

/// Checks that every address keeps its bytes and rights, and that no address got new ones. Adds to `ranges`
/// the loaded bytes outside of `skips`. Errors: kInternal.
Result<void> CheckMemory(const SlicePair& files, const DeviceSections& device, const MovedContent& moved,
                         const SkippedRanges& skips, RangeComparison& ranges);

}  // namespace ptpkg::elf
