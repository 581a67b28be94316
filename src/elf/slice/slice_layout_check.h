#pragma once
// True if a compact slice says the same as its original but for its containers. Layer: elf, private to it.

#include <vector>

#include "elf/slice/slice_compare.h"
#include "elf/slice/slice_moves.h"

namespace ptpkg::elf {

/// VerifySlice's rules for addresses, sections, segments, symbols and relocations. Adds to `ranges` what has
/// to have equal bytes: all but `device`, the sections of containers. Errors: kInternal; those of reading.
Result<void> CheckLayout(const OpenImage& original, const OpenImage& sliced,
                         const std::vector<ContainerMoves>& device, RangeComparison& ranges);

}  // namespace ptpkg::elf
