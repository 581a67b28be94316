#pragma once
// Applies one patch to a source tree with the system's patch program. Layer: source.

#include "support/env.h"

namespace ptpkg::source {

/// Applies `patch` (unified diff) to folder `tree` as `patch -p1 --fuzz=0` does: every line of context must
/// match, though a hunk may have moved. No backup and no reject file is left.
/// On an error `tree` may hold a part of the change: callers patch a copy that they then drop.
/// Errors: kNotFound (patch file, patch program); kInvalidInput (see patch_text.h; a file that is reached
/// through a symlink; a hunk that does not apply: names the patch, the file and the hunk); kCancelled.
Result<void> ApplyPatch(Env& env, const AbsPath& patch, const AbsPath& tree);

}  // namespace ptpkg::source
