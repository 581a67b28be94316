#pragma once
// Dependency graph of a tree's ELF files. Layer: verify.

#include <string>
#include <vector>

#include "verify/check_artifact.h"
#include "verify/elf/file_links.h"
#include "verify/elf/resolved_libraries.h"

namespace ptpkg::verify {

/// One entry per member, in its order. States and problems are those that CheckNeeded finds with the same
/// values.
std::vector<FileLinks> ExplainLinks(const ElfTree& tree, const CheckOptions& options,
                                    const std::vector<std::string>& dependencies,
                                    const ResolvedLibraries& loads);

}  // namespace ptpkg::verify
