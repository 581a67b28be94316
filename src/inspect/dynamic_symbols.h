#pragma once
// Digests and lists the dynamic symbols of a file. Layer: inspect.

#include <string>
#include <vector>

#include "support/digest/hash.h"
#include "support/files/fs.h"

namespace ptpkg::inspect {

/// Names of dynamic symbols, sorted, each once. Local symbols are left out.
struct DynamicSymbols {
  std::vector<std::string> exported = {};  ///< Defined, and visible to other files.
  std::vector<std::string> needed = {};    ///< Undefined; "memcpy@GLIBC_2.14" if a version is required.
  bool complete = true;  ///< False for more than 64 MiB of names: both lists are empty then.
};

/// Feeds `hash` with each dynamic symbol's name, type, binding, visibility and size, in the order of the
/// table, and with the versions that the file requires and defines: not where the linker put names and
/// values. Returns the names; none for a file without such a table. Errors: kCorrupt for tables that are
/// damaged, and for a table of names of more than 512 MiB; kIo. Memory: the table of names, and the result.
Result<DynamicSymbols> HashDynamicSymbols(File& file, HashingSink& hash);

}  // namespace ptpkg::inspect
