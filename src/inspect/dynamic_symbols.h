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

/// Feeds `hash` with the name, type, binding, visibility and size of each dynamic symbol, in table order, and
/// with the versions that the file requires and defines. Values and the positions of names, which the linker
/// chooses, are not hashed. Returns the names, none for a file without a symbol table. Memory: the string
/// table and the result. Errors: kCorrupt for damaged tables and for a string table above 512 MiB, kIo.
Result<DynamicSymbols> HashDynamicSymbols(File& file, HashingSink& hash);

}  // namespace ptpkg::inspect
