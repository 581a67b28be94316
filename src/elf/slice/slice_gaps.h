#pragma once
// What no header of a compact slice names: the bytes between sections and tables, and behind the last one.
// Layer: elf, private to it.

#include "elf/slice/slice_compare.h"
#include "elf/slice/slice_moves.h"

namespace ptpkg::elf {

/// Checks that each gap of the slice ends with the bytes of the original's gap before that section or table,
/// which are added to `ranges`, and is zero before them: no dropped bytes are left. REQUIRES: both have the
/// same sections; those of the slice share no bytes (FindSharedBytes). Errors: kInternal; those of reading.
/// Cost: reads the gaps that the slice has more of.
Result<void> CheckUnnamedBytes(const OpenImage& original, const OpenImage& sliced, RangeComparison& ranges);

}  // namespace ptpkg::elf
