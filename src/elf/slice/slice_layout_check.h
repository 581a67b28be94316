#pragma once
// Checks that a compact slice matches its original except for its containers. Layer: elf, private to it.

#include <vector>

#include "elf/slice/slice_compare.h"
#include "elf/slice/slice_moves.h"

namespace ptpkg::elf {

/// VerifySlice's rules for addresses, sections, segments, symbols and relocations. Adds to `ranges` all bytes
/// that must be equal: everything except `device`, the sections of containers. Errors: kInternal, and any
/// read error.
Result<void> CheckLayout(const OpenImage& original, const OpenImage& sliced,
                         const std::vector<ContainerMoves>& device, RangeComparison& ranges);

}  // namespace ptpkg::elf
