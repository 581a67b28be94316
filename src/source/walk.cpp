// One list of files serves digests, copies and records, so it must be the same on every machine and in every
// run: sorted by path, independent of the order in which directories are read in parallel.
//
// Directories are read level by level, in parallel and without recursion: a foreign tree may be deeper than
// the stack. No symlink is followed, except the root itself.
//
// With `sources_only`, version control and earlier output directories are left out. An output directory is
// recognised by its `.ptpkg`, under whatever name. Files of a run (ptpkg.toml, logs) are left out only at the
// root, where users put them.

#include "source/walk.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <iterator>
#include <string>

#include "support/process/parallel.h"

namespace ptpkg::source {

namespace {

/// A directory, below the root, and what it holds.
struct Folder {
  std::string path;  ///< "" for the root.
  FileStat stat = {};
  std::vector<WalkEntry> entries = {};
  std::vector<Folder> folders = {};
};

bool IsVersionControl(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kNames = {".git", ".hg", ".svn", ".jj"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

/// Settings, and output that the user redirects: "ptpkg build . > build.log".
bool IsOfARun(std::string_view name) {
  return name == "ptpkg.toml" || name == "nohup.out" || name.ends_with(".log");
}

/// An earlier run's, whatever it was called there.
bool IsOutputFolder(const Folder& folder, const std::vector<std::string>& names) {
  return !folder.path.empty() && std::find(names.begin(), names.end(), ".ptpkg") != names.end();
}

Result<void> List(Env& env, const AbsPath& root, const WalkOptions& options, Folder& folder) {
  PTPKG_CHECK(env.cancel.Check());
  PTPKG_TRY(const std::vector<std::string> names,
            env.fs.ListDir(folder.path.empty() ? root : root / folder.path));
  if (options.sources_only && IsOutputFolder(folder, names)) return Ok();
  bool has_left_out = false;
  for (const std::string& name : names) {
    if (options.sources_only && IsVersionControl(name)) continue;
    std::string relative = folder.path.empty() ? name : folder.path + "/" + name;
    PTPKG_TRY(RelPath path, RelPath::Parse(relative), fmt::format("while listing '{}'", root.str()));
    if (std::find(options.left_out.begin(), options.left_out.end(), path) != options.left_out.end()) {
      has_left_out = true;
      continue;
    }
    PTPKG_TRY(const FileStat stat, env.fs.Lstat(root / path));
    const bool is_regular_of_root = folder.path.empty() && stat.kind == FileKind::kRegular;
    if (options.no_run_files && is_regular_of_root && IsOfARun(name)) continue;
    if (stat.kind == FileKind::kDirectory) {
      folder.folders.push_back({.path = std::move(relative), .stat = stat});
    } else {
      folder.entries.push_back({.path = std::move(path), .stat = stat});
    }
  }
  // A directory that holds only excluded paths does not belong to the sources either.
  const bool is_empty = folder.entries.empty() && folder.folders.empty() && !has_left_out;
  if (!options.empty_folders || !is_empty || folder.path.empty()) return Ok();
  PTPKG_TRY(RelPath path, RelPath::Parse(folder.path));
  folder.entries.push_back({.path = std::move(path), .stat = folder.stat});
  return Ok();
}

}  // namespace

bool IsExecutable(const FileStat& stat) {
  return stat.kind == FileKind::kRegular && (stat.mode & 0100U) != 0;
}

Result<std::vector<WalkEntry>> Walk(Env& env, const AbsPath& root, const WalkOptions& options) {
  PTPKG_TRY(const FileStat root_stat, env.fs.Stat(root));
  if (root_stat.kind != FileKind::kDirectory) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a directory", root.str()));
  }
  std::vector<WalkEntry> entries;
  // Level by level, without recursion: the depth of a foreign tree is unknown.
  std::vector<Folder> level = {{.path = ""}};
  while (!level.empty()) {
    PTPKG_CHECK(ParallelFor(env.jobs, level.size(),
                            [&](std::size_t i) { return List(env, root, options, level[i]); }));
    std::vector<Folder> next;
    for (Folder& folder : level) {
      std::move(folder.entries.begin(), folder.entries.end(), std::back_inserter(entries));
      std::move(folder.folders.begin(), folder.folders.end(), std::back_inserter(next));
    }
    level = std::move(next);
  }
  std::sort(entries.begin(), entries.end(),
            [](const WalkEntry& left, const WalkEntry& right) { return left.path < right.path; });
  return entries;
}

}  // namespace ptpkg::source
