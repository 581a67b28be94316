#pragma once
// Checks bytes that no header of a compact slice names: between sections and tables, and behind the last one.
// Layer: elf, private to it.

#include "elf/slice/slice_compare.h"
#include "elf/slice/slice_moves.h"

namespace ptpkg::elf {

/// Checks that each gap of the slice ends with the bytes of the original's gap before that section or table,
/// and adds these bytes to `ranges`. Before them the gap must be zero: no dropped bytes are left. REQUIRES:
/// both have the same sections, and the slice's sections share no bytes (FindSharedBytes). Errors: kInternal,
/// and any read error. Cost: reads the extra gap bytes of the slice.
Result<void> CheckUnnamedBytes(const OpenImage& original, const OpenImage& sliced, RangeComparison& ranges);

}  // namespace ptpkg::elf
