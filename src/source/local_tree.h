#pragma once
// Lists, digests and copies local source directories. Layer: source.

#include <vector>

#include "model/staged_tree.h"
#include "source/walk.h"
#include "support/digest/hash.h"
#include "support/env.h"

namespace ptpkg::source {

/// One file of a source directory: its size and mode as on disk, no digest. Errors: kIo; kInvalidInput for
/// sockets, devices and fifos, and for a symlink that is absolute or leaves the tree: a build that writes
/// through it would change files outside of its own copy.
Result<TreeEntry> CheckEntry(Env& env, const AbsPath& root, WalkEntry found);

/// The `paths` below `root`, relative to it. `root` may be reached through symlinks.
std::vector<RelPath> PathsBelow(Env& env, const AbsPath& root, const std::vector<AbsPath>& paths);

struct FolderList {
  std::vector<TreeEntry> entries = {};
  std::vector<RelPath> empty_folders = {};  ///< ".git" does not count; scripts may write into them.
};

/// Everything below `root` but `left_out` and what WalkOptions::sources_only leaves out, by path. Sizes and
/// modes as on disk, digests empty.
/// Errors: kNotFound, kIo with the path, kCancelled; kInvalidInput for `root` not a directory, and as of
/// CheckEntry.
Result<FolderList> ListFolder(Env& env, const AbsPath& root, const std::vector<AbsPath>& left_out = {});

/// Digest over path, kind, executable bit and content of all that ListFolder gives.
Result<Sha256> DigestFolder(Env& env, const AbsPath& root, const std::vector<AbsPath>& left_out = {});

/// Copies what ListFolder gives into the existing directory `destination`; files become writable by the
/// owner. Advances `task` by the bytes copied. Returns what DigestFolder would say of `root`, but of the
/// bytes that were copied, should it change meanwhile. Errors: kAlreadyExists.
Result<Sha256> CopyFolder(Env& env, const AbsPath& root, const AbsPath& destination, Task& task,
                          const std::vector<AbsPath>& left_out = {});

/// Moves all of directory `from` into directory `to`, joining directories. Errors: kInvalidInput naming the
/// path that both hold (nothing is overwritten, no symlink of `to` is followed).
Result<void> MergeInto(Fs& fs, const AbsPath& from, const AbsPath& to);

}  // namespace ptpkg::source
