// A package consists of the files that the script added to the prefix. Host packages lie in the same prefix,
// so a snapshot before the script tells them apart. It compares inode, size, time and kind, without reading
// any file: a replaced file has another inode, and an edit in place changes the time.
//
// Changed host files become warnings, not part of the package: two packages with one file cannot be installed
// together.

#include "builder/prefix_diff.h"

#include <algorithm>
#include <fmt/core.h>

#include "source/walk.h"

namespace ptpkg::builder {

namespace {

bool IsChanged(const FileStat& old, const FileStat& now) {
  return old.inode != now.inode || old.size_bytes != now.size_bytes || old.mtime_ns != now.mtime_ns ||
         old.kind != now.kind;
}

}  // namespace

Result<PrefixSnapshot> PrefixSnapshot::Take(Env& env, const AbsPath& prefix,
                                            const std::vector<RelPath>& helpers) {
  PTPKG_TRY(const std::vector<source::WalkEntry> entries, source::Walk(env, prefix));
  PrefixSnapshot snapshot;
  for (const source::WalkEntry& entry : entries) {
    const bool helper = std::find(helpers.begin(), helpers.end(), entry.path) != helpers.end();
    (helper ? snapshot.helpers_ : snapshot.before_).emplace(entry.path, entry.stat);
  }
  return snapshot;
}

bool PrefixSnapshot::Contains(const RelPath& path) const {
  return before_.contains(path) || helpers_.contains(path);
}

std::vector<RelPath> PrefixSnapshot::Paths() const {
  std::vector<RelPath> paths;
  for (const auto* files : {&before_, &helpers_}) {
    for (const auto& [path, stat] : *files) paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<std::vector<RelPath>> PrefixSnapshot::Added(Env& env, const AbsPath& prefix) const {
  PTPKG_TRY(const std::vector<source::WalkEntry> entries, source::Walk(env, prefix));
  std::vector<RelPath> added;
  std::size_t untouched = 0;
  for (const source::WalkEntry& entry : entries) {
    const auto helper = helpers_.find(entry.path);
    if (helper != helpers_.end()) {
      if (IsChanged(helper->second, entry.stat)) added.push_back(entry.path);
      continue;
    }
    const auto before = before_.find(entry.path);
    if (before == before_.end()) {
      added.push_back(entry.path);
      continue;
    }
    ++untouched;
    if (!IsChanged(before->second, entry.stat)) continue;
    env.reporter.Warn(fmt::format(
        "the build script changed '{}', which belongs to a host package; ptpkg discards the change",
        entry.path.str()));
  }
  if (untouched < before_.size()) {
    env.reporter.Warn(
        fmt::format("the build script removed {} files of host packages", before_.size() - untouched));
  }
  return added;
}

Result<void> RemoveAllExcept(Env& env, const AbsPath& prefix, const std::vector<RelPath>& keep) {
  PTPKG_TRY(const std::vector<source::WalkEntry> entries, source::Walk(env, prefix));
  for (const source::WalkEntry& entry : entries) {
    if (!std::binary_search(keep.begin(), keep.end(), entry.path))
      PTPKG_CHECK(env.fs.Remove(prefix / entry.path));
  }
  return Ok();
}

}  // namespace ptpkg::builder
