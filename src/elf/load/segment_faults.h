#pragma once
// Finds load faults of the program headers. Layer: elf, private to it.

#include "elf/load/fault_list.h"

namespace ptpkg::elf {

/// Adds the faults of all segments but PT_INTERP.
void FindSegmentFaults(const Image& image, FaultList& faults);

/// Adds the fault of PT_INTERP, if it has one. Reads the name's last byte. Errors: kCorrupt, kIo.
Result<void> FindInterpreterFaults(File& file, const Image& image, FaultList& faults);

}  // namespace ptpkg::elf
