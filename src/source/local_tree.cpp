// A local directory is a source by its content. The digest must be equal for equal trees on every machine, so
// it holds paths, digests, link targets and executable bits, but no times, owners or umask. Empty directories
// are added only if there are any, so trees without them have the digest of a plain tree.
//
// Builds work on a copy. CopyFolder digests the copied files, not the originals: nobody else writes to the
// copy, so the digest describes what is built even if somebody edits the originals meanwhile. The caller
// compares it with the plan.
//
// A link that leaves the directory would point elsewhere in the copy, so it is an error.

#include "source/local_tree.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/process/parallel.h"

namespace ptpkg::source {

Result<TreeEntry> CheckEntry(Env& env, const AbsPath& root, WalkEntry found) {
  const AbsPath path = root / found.path;
  TreeEntry entry{.path = std::move(found.path),
                  .kind = found.stat.kind,
                  .mode = found.stat.mode,
                  .size_bytes = 0,
                  .sha256 = {},
                  .link_target = {}};
  if (entry.kind == FileKind::kRegular) {
    entry.size_bytes = found.stat.size_bytes;
    return entry;
  }
  if (entry.kind != FileKind::kSymlink) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' is not a file, directory or symlink", path.str()))
        .WithHint("remove it from the source directory");
  }
  PTPKG_TRY(entry.link_target, env.fs.ReadLink(path));
  const bool leaves = entry.link_target.empty() || entry.link_target.front() == '/' ||
                      !ResolveInTree(entry.path.ParentText(), entry.link_target).has_value();
  if (leaves) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("symlink '{}' points outside the source directory (to '{}')", path.str(),
                             entry.link_target))
        .WithHint("replace the link with its target: builds use a copy of the source directory");
  }
  return entry;
}

std::vector<RelPath> PathsBelow(Env& env, const AbsPath& root, const std::vector<AbsPath>& paths) {
  std::vector<RelPath> below;
  const auto real = env.fs.RealPath(root.str());
  for (const AbsPath& path : paths) {
    const Result<RelPath> relative = path.RelativeTo(real ? *real : root);
    if (relative) below.push_back(*relative);
  }
  return below;
}

Result<FolderList> ListFolder(Env& env, const AbsPath& root, const std::vector<AbsPath>& left_out) {
  PTPKG_TRY(std::vector<WalkEntry> found, Walk(env, root,
                                               {.sources_only = true,
                                                .no_run_files = true,
                                                .empty_folders = true,
                                                .left_out = PathsBelow(env, root, left_out)}));
  FolderList list;
  list.entries.reserve(found.size());
  for (WalkEntry& one : found) {
    if (one.stat.kind == FileKind::kDirectory) {
      list.empty_folders.push_back(std::move(one.path));
      continue;
    }
    PTPKG_TRY(TreeEntry entry, CheckEntry(env, root, std::move(one)));
    list.entries.push_back(std::move(entry));
  }
  return list;
}

namespace {

/// Fills the digest of a regular file below `root`.
Result<void> Digest(Env& env, const AbsPath& root, TreeEntry& entry) {
  PTPKG_TRY(const Digests digests, HashFile(env.fs, root / entry.path));
  entry.sha256 = digests.sha256;
  return Ok();
}

Sha256 DigestOf(const AbsPath& root, FolderList list) {
  // Only the executable bit of a mode travels into the copy's meaning; umask and the like must not.
  for (TreeEntry& entry : list.entries) {
    entry.mode = entry.kind == FileKind::kRegular && (entry.mode & 0100U) == 0 ? 0644 : 0755;
  }
  const Sha256 files = TreeDigest(StagedTree{.root = root, .entries = std::move(list.entries)});
  if (list.empty_folders.empty()) return files;
  KeyHasher hasher;
  hasher.Add("files", files.Hex());
  for (const RelPath& folder : list.empty_folders) hasher.Add("folder", folder.str());
  return hasher.Finish();
}

}  // namespace

Result<Sha256> DigestFolder(Env& env, const AbsPath& root, const std::vector<AbsPath>& left_out) {
  PTPKG_TRY(FolderList list, ListFolder(env, root, left_out));
  std::vector<TreeEntry>& entries = list.entries;
  const std::uint64_t total_bytes = StagedTree{.root = root, .entries = entries}.TotalBytes();
  Task task(env.reporter, {.stage = "hash", .subject = std::string(root.Name()), .total_bytes = total_bytes});
  const auto digest_one = [&](std::size_t i) -> Result<void> {
    PTPKG_CHECK(env.cancel.Check());
    if (entries[i].kind != FileKind::kRegular) return Ok();
    PTPKG_CHECK(Digest(env, root, entries[i]));
    task.Advance(entries[i].size_bytes);
    return Ok();
  };
  PTPKG_CHECK(ParallelFor(env.jobs, entries.size(), digest_one));
  task.Done();
  return DigestOf(root, std::move(list));
}

Result<Sha256> CopyFolder(Env& env, const AbsPath& root, const AbsPath& destination, Task& task,
                          const std::vector<AbsPath>& left_out) {
  PTPKG_TRY(FolderList list, ListFolder(env, root, left_out));
  std::vector<TreeEntry>& entries = list.entries;
  std::string made;  // the directory made last: entries are sorted, so neighbours share theirs
  for (const TreeEntry& entry : entries) {
    const std::string folder = entry.path.ParentText();
    if (folder == made) continue;
    PTPKG_CHECK(env.fs.MakeDirs((destination / entry.path).Parent()));
    made = folder;
  }
  const auto copy_one = [&](std::size_t i) -> Result<void> {
    PTPKG_CHECK(env.cancel.Check());
    TreeEntry& entry = entries[i];
    const AbsPath target = destination / entry.path;
    if (entry.kind == FileKind::kSymlink) return env.fs.CreateSymlink(entry.link_target, target);
    PTPKG_CHECK(env.fs.CopyFile(root / entry.path, target));
    // Patches and scripts must be able to change the copy.
    if ((entry.mode & 0200U) == 0) PTPKG_CHECK(env.fs.SetMode(target, entry.mode | 0200U));
    // The copy, which nobody else writes to.
    PTPKG_CHECK(Digest(env, destination, entry));
    task.Advance(entry.size_bytes);
    return Ok();
  };
  PTPKG_CHECK(ParallelFor(env.jobs, entries.size(), copy_one));
  for (const RelPath& folder : list.empty_folders) PTPKG_CHECK(env.fs.MakeDirs(destination / folder));
  return DigestOf(destination, std::move(list));
}

namespace {

Result<void> MergeBelow(Fs& fs, const AbsPath& from, const AbsPath& to, const std::string& shown) {
  PTPKG_TRY(const std::vector<std::string> names, fs.ListDir(from));
  for (const std::string& name : names) {
    const std::string path = shown.empty() ? name : shown + "/" + name;
    const AbsPath target = to / name;
    PTPKG_TRY(const bool there, Exists(fs, target));
    if (!there) {
      PTPKG_CHECK(fs.Rename(from / name, target));
      continue;
    }
    PTPKG_TRY(const FileStat old_stat, fs.Lstat(target));
    PTPKG_TRY(const FileStat new_stat, fs.Lstat(from / name));
    if (old_stat.kind != FileKind::kDirectory || new_stat.kind != FileKind::kDirectory) {
      return Error(ErrorCode::kInvalidInput, fmt::format("two sources of the recipe contain '{}'", path))
          .WithHint("set target_directory for one of them");
    }
    PTPKG_CHECK(MergeBelow(fs, from / name, target, path));
  }
  return Ok();
}

}  // namespace

Result<void> MergeInto(Fs& fs, const AbsPath& from, const AbsPath& to) {
  return MergeBelow(fs, from, to, "");
}

}  // namespace ptpkg::source
