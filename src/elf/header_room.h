#pragma once
// Room for more program headers where the table stands: what lies behind it moves, if only headers and
// .dynamic point to it. Layer: elf, private to it.

#include <optional>

#include "elf/image.h"

namespace ptpkg::elf {

/// File range behind the program headers that is to move as one block, gaps included.
struct HeaderRoom {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t vaddr = 0;  ///< Of `begin`.
  /// A hash table or .dynsym moves too: .dynamic points to it, and has to switch in the same write.
  bool has_tables = false;

  /// Whether a section or segment moves with the block: notes, the interpreter's name, hash tables and
  /// .dynsym.
  [[nodiscard]] bool Holds(const Image& image, const Section& section) const;
  [[nodiscard]] bool Holds(const Segment& segment) const;
};

/// The block whose move makes room for `slots` program headers. nullopt when something else stands there,
/// when there are no section headers to tell, or when the table would not end in the first page, which one
/// write switches. A table that stays is what strip expects, and what Linux before 5.18 computes AT_PHDR
/// from.
std::optional<HeaderRoom> FindHeaderRoom(const Image& image, std::size_t slots);

}  // namespace ptpkg::elf
