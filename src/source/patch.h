#pragma once
// Applies one patch to a source tree with the system's patch program. Layer: source.

#include "source/patch_list.h"
#include "support/env.h"

namespace ptpkg::source {

/// Finds what is wrong with `patch` before there is a tree to apply it to. Errors: kNotFound (the file, the
/// program that applies it); kInvalidInput (see patch_text.h).
Result<void> CheckPatch(Env& env, const PatchFile& patch);

/// Applies `patch` (unified diff, also git's: renames, modes, new, removed and binary files) to directory
/// `tree` like `patch -pN --fuzz=0`: every line of context must match, but a hunk can be moved. Binary
/// changes need git. Without `patch.strip`, N is the first of 1, 0, 2, 3, … (0 first, if git wrote the names
/// without prefix) for which all changed files exist. Leaves no backup and no reject file. After an error,
/// `tree` can have a part of the change, so callers patch a copy that they then drop. Errors:
///
/// - kNotFound: patch file, patch program, git
/// - kInvalidInput: see patch_text.h; a file behind a symlink, a symlink that leaves the tree, or a hunk that
///   does not apply (names the patch, the file and the hunk)
/// - kCancelled
Result<void> ApplyPatch(Env& env, const PatchFile& patch, const AbsPath& tree);

}  // namespace ptpkg::source
