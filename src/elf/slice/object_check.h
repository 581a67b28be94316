#pragma once
// Whether a compact slice of an object says the same as its original but for its containers. Layer: elf,
// private to it.

#include <vector>

#include "elf/slice/slice_compare.h"
#include "elf/slice/slice_moves.h"

namespace ptpkg::elf {

/// What VerifySlice says of an object's headers, sections, symbols and relocations. Adds to `ranges` what has
/// to have equal bytes: all but `device`, the sections of containers; addresses in these count from the
/// section's begin. Errors: kInternal naming the first difference; those of reading. Memory: 2 MiB, and the
/// symbols of containers.
Result<void> CheckObject(const OpenImage& original, const OpenImage& sliced,
                         const std::vector<ContainerMoves>& device, RangeComparison& ranges);

}  // namespace ptpkg::elf
