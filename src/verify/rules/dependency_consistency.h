#pragma once
// Checks consistency of NEEDED, SONAME and symbol versions. Layer: verify. Pages: docs/findings/elf-*.md.

#include <vector>

#include "model/finding.h"
#include "verify/elf/elf_tree_map.h"
#include "verify/elf/resolved_libraries.h"

namespace ptpkg::verify {
/// Findings: elf-version-requirement, elf-version-missing, elf-soname-mismatch, elf-duplicate-needed,
/// elf-duplicate-soname, elf-duplicate-openmp.
void CheckDependencyConsistency(const ElfTree& tree, const ResolvedLibraries& loads,
                                std::vector<Finding>& findings);

/// Dangerous or misplaced requests of a single file: elf-text-relocations,
/// elf-executable-stack, elf-driver-library.
void CheckFlags(const ElfTree& tree, std::vector<Finding>& findings);

}  // namespace ptpkg::verify
