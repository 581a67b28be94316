#pragma once
// Writes a package with given info/ files, for packages made from another. Layer: conda.

#include <string>
#include <vector>

#include "archive/entry_set.h"
#include "conda/package.h"

namespace ptpkg::conda {

struct PackageParts {
  std::string stem;        ///< "name-version-build"
  archive::EntrySet info;  ///< Names begin with "info/"; index.json and paths.json say what is true.
  archive::EntrySet payload;
};

/// Packs as WritePackages does, and judges nothing. Errors: kAlreadyExists (before any work), kInvalidInput
/// (a file that changed meanwhile), kIo, kCancelled.
Result<std::vector<Artifact>> WritePackageParts(Env& env, const PackageParts& parts, const AbsPath& folder,
                                                const WriteOptions& options);

}  // namespace ptpkg::conda
