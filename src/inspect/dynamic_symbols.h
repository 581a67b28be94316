#pragma once
// The dynamic symbols of an ELF file as what they mean. Layer: inspect.

#include "support/fs.h"
#include "support/hash.h"

namespace ptpkg::inspect {

/// Feeds `hash` with each dynamic symbol's name, type, binding, visibility and size, in the order of the
/// table, and with the versions that the file requires and defines: not where the linker put names and
/// values. Nothing for a file without them. Errors: kCorrupt for tables that are damaged, and for names of
/// more than 512 MiB; kIo. Memory: the table of names.
Result<void> HashDynamicSymbols(File& file, HashingSink& hash);

}  // namespace ptpkg::inspect
