#pragma once
// Finds files installed by several packages. Layer: verify. Page: docs/findings/conda-shared-file.md.

#include <string>
#include <vector>

#include "model/finding.h"
#include "support/path.h"

namespace ptpkg::verify {

struct PackageFiles {
  AbsPath package;                 ///< A conda package in the directory of its subdir.
  std::vector<std::string> paths;  ///< Paths in its payload.
};

/// The findings of each package, in the order of `packages`: conda-shared-file, a warning, where an earlier
/// package installs a file of the same path. Packages of one name, and of two platforms, meet in no
/// environment; noarch packages meet all.
std::vector<std::vector<Finding>> CheckSharedFiles(const std::vector<PackageFiles>& packages);

}  // namespace ptpkg::verify
