#pragma once
// Checks out a commit with its submodules. Layer: source.

#include "source/git_mirror.h"

namespace ptpkg::source {

struct GitCheckout {
  GitRequest wish;
  bool submodules = true;
};

/// Writes the files of the commit below the existing, empty directory `destination`, as a checkout does, but
/// without any ".git": what git would answer there (names of tags, "dirty" after a patch, the day) depends on
/// more than the commit. Files share no bytes with the cache and carry the time `env.source_date_epoch`.
/// Attributes of the repository count, the user's configuration does not. What the cache lacks is fetched:
/// submodules side by side, each at the commit that its parent records. A damaged mirror is fetched again,
/// with a warning. Errors: those of GitMirror; kInvalidInput (a submodule without URL or outside of the tree,
/// more levels than limits::kSubmoduleLevels, a symlink that leaves the tree), kCorrupt (the fetched
/// repository).
Result<void> CheckOut(Env& env, const GitCheckout& checkout, const AbsPath& destination);

}  // namespace ptpkg::source
