#pragma once
// Checks symbols and static TLS. Layer: verify. Source: glibc elf/dl-lookup.c, dl-tls.c.

#include <string>
#include <vector>

#include "model/finding.h"
#include "verify/elf/elf_tree_map.h"
#include "verify/elf/resolved_libraries.h"

namespace ptpkg::verify {

/// Limit on files searched for undefined symbols; a file counts again for each file that needs it.
inline constexpr std::uint64_t kMaxSymbolSteps = 50'000'000;

/// Inputs of the checks below; borrowed.
struct SymbolContext {
  const ElfTree& tree;
  const ResolvedLibraries& loads;
  const std::vector<std::string>& dependencies;  ///< Normalised.
};

/// Findings: elf-undefined-symbol, elf-static-tls. If a process loads a library with unknown symbols,
/// undefined symbols are not reported. Cost: linear in files and their needs, except for files with undefined
/// symbols. Their libraries are walked for each, up to kMaxSymbolSteps in all.
void CheckSymbols(const SymbolContext& context, std::vector<Finding>& findings);

}  // namespace ptpkg::verify
