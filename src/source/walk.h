#pragma once
// Lists a folder tree without following symlinks. Layer: source.

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
  bool skip_git = false;       ///< Leaves out anything named ".git", at any depth.
  bool empty_folders = false;  ///< Folders that hold nothing count, too.
};

/// Everything below `root` that is not a folder (but see WalkOptions), by path. Errors: kNotFound, kIo with
/// the path, kCancelled; kInvalidInput when `root` is no folder.
Result<std::vector<WalkEntry>> Walk(Env& env, const AbsPath& root, const WalkOptions& options = {});

}  // namespace ptpkg::source
