#pragma once
// Moves between a file and its slice: containers, and the contents behind them. Layer: elf, private to it.

#include <map>
#include <vector>

#include "elf/read/image.h"

namespace ptpkg::elf {

/// A file and its headers.
struct OpenImage {
  File& file;
  const Image& image;
};

/// One section of containers in both files.
struct ContainerMoves {
  std::size_t section = 0;
  struct Move {
    std::uint64_t from = 0;  ///< Address in the original.
    std::uint64_t to = 0;    ///< Address in the slice.
    std::uint64_t from_size = 0;
    std::uint64_t to_size = 0;
  };
  std::vector<Move> moves = {};  ///< Ascending by `from`.
  std::uint64_t from_end = 0;    ///< Address behind the section, in the original.
  std::uint64_t to_end = 0;      ///< The same in the slice.

  /// The container that begins at `vaddr`; null when none does.
  [[nodiscard]] const Move* Find(std::uint64_t vaddr) const;
  /// Converts a 64-bit symbol of the original that lies in the section to its required value and size in the
  /// slice. The symbol of the section itself stays.
  void FollowSymbol(const Codec& codec, MutableBytes symbol) const;
};

/// Compares the ELF headers, with `excused` in place of the slice's: its header with the original's values in
/// all fields that can differ. Errors: kInternal, and any read error.
Result<void> CompareFileHeaders(const OpenImage& original, const OpenImage& sliced,
                                const FileHeader& excused);

/// Distance that items with bytes moved to the front of the file, by their place in the original.
class MovesByPlace {
 public:
  /// Initially contains the file's begin and end, and the section headers.
  MovesByPlace(const Image& original, const Image& sliced);

  /// Adds an item with bytes.
  void Add(std::uint64_t original, std::uint64_t sliced) { moves_[original] = original - sliced; }
  /// True if an item without bytes moved no less than the bytes before it, and no more than the bytes behind
  /// it.
  [[nodiscard]] bool IsBetweenNeighbours(std::uint64_t original, std::uint64_t sliced) const;
  /// Checks IsBetweenNeighbours for all sections without bytes. Errors: kInternal naming the section.
  [[nodiscard]] Result<void> CheckEmptySections(const Image& original, const Image& sliced) const;

 private:
  std::map<std::uint64_t, std::uint64_t> moves_;
};

}  // namespace ptpkg::elf
