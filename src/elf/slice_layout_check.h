#pragma once
// Whether a compact slice says the same as its original but for its containers. Layer: elf, private to it.

#include <string>
#include <utility>
#include <vector>

#include "elf/image.h"

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

  /// The container that begins at `vaddr`; null when none does.
  [[nodiscard]] const Move* Find(std::uint64_t vaddr) const;
};

/// kInternal: "the slice differs from its original: " and `what`.
Error SliceDiffers(const std::string& what);

/// Where bytes begin.
struct BytesAt {
  File& file;
  std::uint64_t offset = 0;
};

/// Compares `size_bytes` bytes. Errors: kInternal naming `what`; those of reading.
Result<void> CompareBytes(const BytesAt& left, const BytesAt& right, std::uint64_t size_bytes,
                          std::string_view what);

/// What VerifySlice says of addresses, sections, segments, symbols and relocations; the contents of
/// `embedded`, and of the ranges `skipped` (offset, size) of the original, are not compared. Errors:
/// kInternal; those of reading.
Result<void> CheckLayout(const OpenImage& original, const OpenImage& sliced, const ContainerMoves& embedded,
                         const std::vector<std::pair<std::uint64_t, std::uint64_t>>& skipped);

}  // namespace ptpkg::elf
