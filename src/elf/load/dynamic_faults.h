#pragma once
// Finds load faults of the dynamic section by its entries alone. Layer: elf, private to it.

#include "elf/load/fault_list.h"

namespace ptpkg::elf {

/// Adds the faults of entries that occur twice, and of the addresses and sizes of tables. REQUIRES:
/// image.dynamic.
void FindTableFaults(const Image& image, FaultList& faults);

/// Adds the faults of functions that ld.so calls at start and exit. REQUIRES: image.dynamic.
void FindStartFaults(const Image& image, FaultList& faults);

}  // namespace ptpkg::elf
