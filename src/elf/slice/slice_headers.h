#pragma once
// The headers of the compact form of a linked file's slice. Layer: elf, private to it.

#include <algorithm>
#include <optional>
#include <vector>

#include "elf/edit/header_room.h"
#include "elf/slice/slice_pieces.h"

namespace ptpkg::elf {

/// Each section and symbol is looked up among the parts. A file of `ld --unique` has one for each object of
/// the link.
inline constexpr std::size_t kMaxCompactParts = 64;

/// A section whose containers move together, so that the rest of the file can move to the front. It has the
/// load segment that holds the section, which then ends behind its containers.
struct CompactPart {
  CompactPart(const SlicedSection& section, const Image& image);

  const SlicedSection* sliced;
  const Section* header;  ///< Header in the original.
  PackedContainers packed;
  std::uint64_t shift = 0;       ///< Bytes that the rest moves, at most as many as the section loses.
  std::size_t load = 0;          ///< Index of the PT_LOAD.
  bool splits = false;           ///< It has more behind the section, which becomes a segment of its own.
  std::uint64_t used_bytes = 0;  ///< From the section's begin: the containers, and the block of `room`.

  [[nodiscard]] std::uint64_t End() const { return header->offset + header->size; }
  [[nodiscard]] std::uint64_t Address(std::uint64_t from_begin) const { return header->addr + from_begin; }
  /// The address behind the section.
  [[nodiscard]] std::uint64_t EndAddress() const { return Address(header->size); }
  /// True if the section has the address.
  [[nodiscard]] bool Holds(std::uint64_t vaddr) const {
    return vaddr >= header->addr && vaddr - header->addr < header->size;
  }
  /// Bytes that the section loses: `used_bytes` stay.
  [[nodiscard]] std::uint64_t Gain() const { return header->size - std::min(header->size, used_bytes); }
  /// The container that begins `from_begin` bytes into the section; null when none does.
  [[nodiscard]] const SlicedContainer* Find(std::uint64_t from_begin) const;
  /// The new place of one of its containers, from the section's begin.
  [[nodiscard]] std::uint64_t NewPlace(const SlicedContainer& container) const;
  /// The address of one of its containers before and after.
  [[nodiscard]] std::uint64_t OldAddress(const SlicedContainer& container) const {
    return Address(container.offset - header->offset);
  }
  [[nodiscard]] std::uint64_t NewAddress(const SlicedContainer& container) const {
    return Address(NewPlace(container));
  }
  [[nodiscard]] bool Moves(const SlicedContainer& container) const {
    return OldAddress(container) != NewAddress(container);
  }
};

/// New layout of the file.
struct CompactLayout {
  std::vector<CompactPart> parts = {};   ///< Ascending by offset.
  std::vector<std::size_t> spared = {};  ///< Program headers that others take the place of, ascending.
  /// The bytes that stand where further program headers go. They move behind the containers of `block_part`.
  std::optional<HeaderRoom> room = {};
  std::size_t block_part = 0;
  std::uint64_t block_at = 0;     ///< From that section's begin.
  std::uint64_t block_bytes = 0;  ///< Up to the end of the last thing in it; 0: nothing has to move.

  /// Number of segments that the parts add.
  [[nodiscard]] std::size_t Splits() const;
};

/// The ELF header, program headers, section headers and .dynamic entries of `layout`, and the values of
/// .symtab that follow the block of its `room`. Errors: kCorrupt, kIo.
Result<std::vector<Replacement>> PlanHeaders(File& file, const Image& image, const CompactLayout& layout);

}  // namespace ptpkg::elf
