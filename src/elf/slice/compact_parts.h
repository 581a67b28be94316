#pragma once
// Chooses the sections that shrink in the compact form of a slice. Layer: elf, private to it.

#include <string>
#include <vector>

#include "elf/slice/slice_headers.h"

namespace ptpkg::elf {

/// Why the compact form is not possible; "" when nothing is in the way.
using Obstacle = std::string;

struct CompactParts {
  Obstacle why_not = {};
  std::vector<CompactPart> parts = {};  ///< Ascending by offset.
  std::uint64_t page_bytes = 0;         ///< The rest of the file moves by multiples of it.
};

/// Chooses the sections that lose a page or more. All of them have to be movable: inside one load
/// segment, without other content, in a file whose pointers relocations show.
CompactParts ChooseCompactParts(const Image& image, const std::vector<const SlicedSection*>& sections);

/// The obstacle of a file that would get smaller by `gain`, which is less than a page.
Obstacle TooLittleGain(std::uint64_t gain, std::uint64_t page_bytes);

}  // namespace ptpkg::elf
