#pragma once
// The compact form of a linked file's slice: what changes in it beside the containers. Layer: elf, private to
// it.

#include <string>
#include <vector>

#include "elf/header_room.h"
#include "elf/slice_pieces.h"

namespace ptpkg::elf {

/// How the file is laid out anew.
struct CompactLayout {
  std::size_t section = 0;  ///< .nv_fatbin
  std::size_t load = 0;     ///< The PT_LOAD that holds it.
  std::uint64_t begin = 0;  ///< The section's offset, its end and its address.
  std::uint64_t end = 0;
  std::uint64_t vaddr = 0;
  PackedContainers packed = {};
  std::uint64_t used_bytes = 0;  ///< With the block that makes room for a program header.
  std::uint64_t shift = 0;       ///< What lies behind `end` moves to the front by as much.
  bool splits = false;           ///< The load segment has more behind the section.
  std::size_t spared = 0;        ///< Index of the program header that the second load segment replaces;
                                 ///< the number of segments when none is.
  std::optional<HeaderRoom> room = {};
  std::uint64_t block_at = 0;     ///< Of `room`'s block, from `begin`.
  std::uint64_t block_bytes = 0;  ///< Up to the end of the last thing in it; 0: nothing has to move.

  [[nodiscard]] std::uint64_t Address(std::uint64_t from_begin) const { return vaddr + from_begin; }
  [[nodiscard]] std::uint64_t NewOffset(std::uint64_t old) const;
};

struct CompactPlan {
  std::string why_not = {};  ///< SlicePlan::not_compact; "" when it can be done.
  std::vector<Replacement> replacements = {};
};

/// Plans the compact form of a linked `file`, whose .nv_fatbin is `section`. Errors: kCorrupt (relocations,
/// symbols or segments that contradict the file), kIo.
Result<CompactPlan> PlanCompact(File& file, const Image& image, const SlicedSection& section);

/// The ELF header, program headers, section headers and .dynamic entries of `layout`, and the values of
/// .symtab that follow the block of its `room`. Errors: kCorrupt, kIo.
Result<std::vector<Replacement>> PlanHeaders(File& file, const Image& image, const CompactLayout& layout);

}  // namespace ptpkg::elf
