#pragma once
// The headers of the compact form of a linked file's slice. Layer: elf, private to it.

#include <optional>
#include <vector>

#include "elf/edit/header_room.h"
#include "elf/slice/slice_pieces.h"

namespace ptpkg::elf {

/// A section that gets smaller, and the load segment that holds it, which ends behind its containers then.
struct CompactPart : PackedSection {
  using PackedSection::PackedSection;

  std::size_t load = 0;          ///< Index of the PT_LOAD.
  bool splits = false;           ///< It has more behind the section, which becomes a segment of its own.
  std::uint64_t used_bytes = 0;  ///< From the section's begin: the containers, and the block of `room`.

  [[nodiscard]] std::uint64_t Address(std::uint64_t from_begin) const { return header->addr + from_begin; }
};

/// How the file is laid out anew.
struct CompactLayout {
  std::vector<CompactPart> parts = {};   ///< Ascending by offset.
  std::vector<std::size_t> spared = {};  ///< Program headers that others take the place of, ascending.
  /// What stands where further program headers have to, and moves behind the containers of `block_part`.
  std::optional<HeaderRoom> room = {};
  std::size_t block_part = 0;
  std::uint64_t block_at = 0;     ///< From that section's begin.
  std::uint64_t block_bytes = 0;  ///< Up to the end of the last thing in it; 0: nothing has to move.

  /// How many segments the parts add.
  [[nodiscard]] std::size_t Splits() const;
};

/// The ELF header, program headers, section headers and .dynamic entries of `layout`, and the values of
/// .symtab that follow the block of its `room`. Errors: kCorrupt, kIo.
Result<std::vector<Replacement>> PlanHeaders(File& file, const Image& image, const CompactLayout& layout);

}  // namespace ptpkg::elf
