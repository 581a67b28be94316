#pragma once
// Finds imported and defined symbols of Python's C API. Layer: elf.

#include <set>
#include <string>

#include "elf/read/image.h"

namespace ptpkg::elf {

struct PythonSymbols {
  std::set<std::string> imported;  ///< "Py…" and "_Py…" without a definition; weak ones are left out.
  std::set<std::string> defined;   ///< Such names with a definition: "PyInit_ext".
};

/// Reads .dynsym and .dynstr, each once, and nothing of a file whose strings have no such name. Errors:
/// kCorrupt, kIo.
Result<PythonSymbols> FindPythonSymbols(File& file, const Image& image);

}  // namespace ptpkg::elf
