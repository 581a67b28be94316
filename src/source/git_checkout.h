#pragma once
// Checks out a commit with its submodules. Layer: source.

#include "source/git_mirror.h"

namespace ptpkg::source {

struct GitCheckout {
  GitRequest wish;
  bool submodules = true;
};

/// Writes the files of the commit below the existing, empty directory `destination`, like a checkout without
/// any ".git". With ".git", git's answers (names of tags, "dirty" after a patch, the day) would depend on
/// more than the commit. Files share no bytes with the cache and carry the time `env.source_date_epoch`.
/// Attributes of the repository count; the user's configuration does not. Missing objects are fetched:
/// submodules in parallel, each at the commit that its parent records. A damaged mirror is fetched again,
/// with a warning. Errors: any from GitMirror, kCorrupt (the fetched repository). Also kInvalidInput for a
/// submodule without a URL or outside the tree, for more levels than limits::kSubmoduleLevels, and for a
/// symlink that leaves the tree.
Result<void> CheckOut(Env& env, const GitCheckout& checkout, const AbsPath& destination);

}  // namespace ptpkg::source
