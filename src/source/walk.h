#pragma once
// Walks a directory tree without following symlinks. Layer: source.

#include <vector>

#include "support/env.h"

namespace ptpkg::source {

struct WalkEntry {
  RelPath path;
  FileStat stat;
};

/// True if its owner may execute it: git and archives know no other bit of a source's mode.
bool IsExecutable(const FileStat& stat);

struct WalkOptions {
  /// Leaves out metadata of version control (".git", ".hg", ".svn", ".jj") and output directories of ptpkg,
  /// which hold a directory ".ptpkg", at any depth.
  bool sources_only = false;
  /// Leaves out files of the root itself that control or record a run of ptpkg: ptpkg.toml, "*.log" and
  /// nohup.out, which a shell can be writing at that time.
  bool no_run_files = false;
  bool empty_folders = false;          ///< Empty directories count, too.
  std::vector<RelPath> left_out = {};  ///< Files and directories below the root.
};

/// Everything below `root` that is not a directory (but see WalkOptions), by path. Errors: kNotFound, kIo
/// with the path, kCancelled, kInvalidInput when `root` is not a directory.
Result<std::vector<WalkEntry>> Walk(Env& env, const AbsPath& root, const WalkOptions& options = {});

}  // namespace ptpkg::source
