#pragma once
// Finds room for additional program headers. Layer: elf, private to it.

#include <optional>

#include "elf/read/image.h"

namespace ptpkg::elf {

/// File range behind the program headers to move as one block, gaps included.
struct HeaderRoom {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t vaddr = 0;  ///< Address of `begin`.

  /// True if a section or segment moves with the block: notes, the interpreter's name, hash tables and
  /// .dynsym.
  [[nodiscard]] bool Holds(const Image& image, const Section& section) const;
  [[nodiscard]] bool Holds(const Segment& segment) const;
};

/// The block whose move makes room for `slots` program headers. nullopt in three cases:
/// - other data is there (a note of an unknown kind can hold a distance from itself)
/// - there are no section headers to identify the data
/// - the table would not end in the first page, which one write switches
///
/// strip requires a table that stays in place, and Linux before 5.18 computes AT_PHDR from it. The block has
/// the size of the tables in it: 640 KiB for 20,000 symbols. The caller checks whether code refers to it
/// (elf/edit/address_users.h). Errors: kIo.
Result<std::optional<HeaderRoom>> FindHeaderRoom(File& file, const Image& image, std::size_t slots);

/// True if the file works without its PT_PHDR, so that another segment can take its slot. Only the dynamic
/// loader itself reads it, in the program that it starts. gold, lld and mold give one to every library, GNU
/// ld to none.
bool CanDropPhdr(const Image& image);

/// True if section `section` is .hash, .gnu.hash or .dynsym, according to .dynamic.
bool IsLookupTable(const Image& image, const Section& section);

}  // namespace ptpkg::elf
