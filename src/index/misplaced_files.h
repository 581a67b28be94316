#pragma once
// Packages that lie where no index lists them. Layer: index.

#include <string>
#include <vector>

#include "index/index.h"

namespace ptpkg::index {

/// Entries of a conda channel that look like packages, and that IndexConda does not look at: in `root`
/// itself, in directories that are not subdirs, wheels, and subdirs whose link leads nowhere. `names`: the
/// entries of `root`. Errors: kIo.
Result<std::vector<SkippedPackage>> FindMisplacedInChannel(Env& env, const AbsPath& root,
                                                           const std::vector<std::string>& names);

/// Conda packages directly in a directory of wheels.
std::vector<SkippedPackage> FindMisplacedBesideWheels(const AbsPath& root,
                                                      const std::vector<std::string>& names);

/// Entries of `root`, in which no package was found, that look like packages. Errors: kIo.
Result<std::vector<SkippedPackage>> FindUnusable(Env& env, const AbsPath& root,
                                                 const std::vector<std::string>& names);

/// Adds them to `summary`, and warns.
void SkipMisplaced(Env& env, const std::vector<SkippedPackage>& misplaced, IndexSummary& summary);

}  // namespace ptpkg::index
