#pragma once
// Walks a directory tree without following symlinks. Layer: source.

#include <vector>

#include "support/env.h"

namespace ptpkg::source {

struct WalkEntry {
  RelPath path;
  FileStat stat;
};

/// By its owner: git and archives know no other bit of a source's mode.
bool IsExecutable(const FileStat& stat);

struct WalkOptions {
  /// Leaves out metadata of version control (".git", ".hg", ".svn", ".jj") and output folders of ptpkg, which
  /// hold a folder ".ptpkg", at any depth.
  bool sources_only = false;
  bool empty_folders = false;          ///< Folders that hold nothing count, too.
  std::vector<RelPath> left_out = {};  ///< Files and folders below the root.
};

/// Everything below `root` that is not a folder (but see WalkOptions), by path. Errors: kNotFound, kIo with
/// the path, kCancelled; kInvalidInput when `root` is no folder.
Result<std::vector<WalkEntry>> Walk(Env& env, const AbsPath& root, const WalkOptions& options = {});

}  // namespace ptpkg::source
