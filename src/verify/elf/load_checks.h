#pragma once
// Checks that glibc's loader can map each file. Layer: verify.

#include <vector>

#include "model/finding.h"
#include "verify/elf/elf_tree_map.h"
#include "verify/elf/resolved_libraries.h"

namespace ptpkg::verify {

/// Findings about faults of the file: elf-header, elf-segments, elf-dynamic, elf-relocation and elf-start.
/// Also elf-no-dlopen for flags that keep it out of a running process, elf-filter for the libraries of
/// DT_FILTER and DT_AUXILIARY, and elf-interpreter for programs.
void CheckMapping(const ElfTree& tree, const ResolvedLibraries& loads, std::vector<Finding>& findings);

}  // namespace ptpkg::verify
