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

/// The function that Python calls when it imports the file of that name: "PyInit_x" for
/// "x.cpython-311-x86_64-linux-gnu.so", "x.abi3.so" and "x.so"; "PyInitU_…" for a name that is not ASCII; ""
/// for a name that Python imports nothing from.
struct ModuleName {
  std::string function = {};
  bool is_tagged = false;  ///< The suffix says that it is a Python module.
};
ModuleName ModuleNameOf(std::string_view file_name);

/// Files looked at for undefined symbols, the same one counted again for each file that asks.
inline constexpr std::uint64_t kMaxSymbolSteps = 50'000'000;

/// Inputs of the checks below; borrowed.
struct SymbolContext {
  const ElfTree& tree;
  const ResolvedLibraries& loads;
  const std::vector<std::string>& dependencies;  ///< Normalised.
};

/// Findings: elf-undefined-symbol, elf-static-tls, elf-module-init. Where a process loads a library of which
/// the symbols are not known, nothing is said of undefined ones. Cost: linear in files and what they need,
/// apart from files with undefined symbols, whose libraries are walked for each, up to kMaxSymbolSteps in
/// all.
void CheckSymbols(const SymbolContext& context, std::vector<Finding>& findings);

}  // namespace ptpkg::verify
