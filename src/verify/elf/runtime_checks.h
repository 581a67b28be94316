#pragma once
// Checks dependencies on compiler run-time libraries. Layer: verify. Source: data/runtime_versions.yaml.

#include <vector>

#include "model/finding.h"
#include "verify/check_artifact.h"
#include "verify/elf/elf_tree_map.h"
#include "verify/wheel/declared_platform.h"

namespace ptpkg::verify {

/// Findings: elf-runtime-floor where a dependency admits an older library than the files need,
/// elf-runtime-undeclared where there is none. No findings for anything but a conda package, for a library
/// that is in the tree, and for one that `options` or the package leaves to the environment.
Result<void> CheckRuntimes(const ElfTree& tree, const DeclaredPlatform& promise, const CheckOptions& options,
                           std::vector<Finding>& findings);

}  // namespace ptpkg::verify
