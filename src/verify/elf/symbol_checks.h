#pragma once
// Checks symbols, module entry points and static TLS. Layer: verify. Source: glibc elf/dl-lookup.c, dl-tls.c;
// CPython Python/importdl.c (PEP 489, PEP 3149).

#include <string>
#include <string_view>
#include <vector>

#include "model/finding.h"
#include "verify/elf/elf_tree_map.h"
#include "verify/elf/resolved_libraries.h"

namespace ptpkg::verify {

/// The function that Python calls when it imports a file: "PyInit_x" for "x.cpython-311-x86_64-linux-gnu.so",
/// "x.abi3.so" and "x.so"; "PyInitU_…" for a name that is not ASCII. "" for a name that Python does not
/// import.
struct ModuleName {
  std::string function = {};
  bool is_tagged = false;  ///< The suffix marks a Python module.
};
ModuleName ModuleNameOf(std::string_view file_name);

/// Limit on files searched for undefined symbols; a file counts again for each file that needs it.
inline constexpr std::uint64_t kMaxSymbolSteps = 50'000'000;

/// Inputs of the checks below; borrowed.
struct SymbolContext {
  const ElfTree& tree;
  const ResolvedLibraries& loads;
  const std::vector<std::string>& dependencies;  ///< Normalised.
};

/// Findings: elf-undefined-symbol, elf-static-tls, elf-module-init. If a process loads a library with unknown
/// symbols, undefined symbols are not reported. Cost: linear in files and their needs, except for files with
/// undefined symbols. Their libraries are walked for each, up to kMaxSymbolSteps in all.
void CheckSymbols(const SymbolContext& context, std::vector<Finding>& findings);

}  // namespace ptpkg::verify
