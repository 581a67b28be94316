#pragma once
// Checks a finished artifact the way its strictest consumer reads it. Layer: verify. Never writes.

#include "support/env.h"
#include "support/finding.h"
#include "support/staged_tree.h"

namespace ptpkg::verify {

struct CheckOptions {
  /// Text that must not occur in any file: build prefix, work folder.
  std::vector<std::string> forbidden_paths = {};
  /// NEEDED names that the environment provides, as globs, besides the built-in system list.
  std::vector<std::string> allow_unresolved = {};
  /// Names of packages that the artifact depends on, besides those that the tree itself declares
  /// (*.dist-info/METADATA, info/index.json). Matching ignores case and '-', '_', '.'.
  std::vector<std::string> dependencies = {};
};

/// `artifact`: a .conda, .tar.bz2 or .whl file; ptpkg need not have made it. Findings sorted by file, id.
/// Errors: only when the file cannot be read at all; everything else is a finding.
Result<Report> CheckArtifact(Env& env, const AbsPath& artifact, const CheckOptions& options = {});

/// ELF checks on a tree: NEEDED resolve, no dead, absolute, empty or escaping search-path entry.
Result<Report> CheckTree(Env& env, const AbsPath& root, const CheckOptions& options = {});

}  // namespace ptpkg::verify
