// A tree costs no copies: its files are hard links, and digests and sizes come from the old entries.
// Conflicts are found in the list of names and not on disk, so the error names both files.

#include "convert/tree/tree_builder.h"

#include <algorithm>
#include <cerrno>
#include <fmt/core.h>

namespace ptpkg::convert {

namespace {

Result<TreeEntry> WriteTextEntry(Env& env, const AbsPath& root, const RelPath& path, std::string_view text,
                                 std::uint32_t mode) {
  const AbsPath place = root / path;
  PTPKG_CHECK(env.fs.MakeDirs(place.Parent()));
  PTPKG_CHECK(WriteFile(env.fs, place, text));
  PTPKG_CHECK(env.fs.SetMode(place, mode));
  return TreeEntry{.path = path, .mode = mode, .size_bytes = text.size(), .sha256 = HashText(text)};
}

Error FileAndFolder(const std::string& path, const std::string& below) {
  return {ErrorCode::kAlreadyExists,
          fmt::format("'{}' would be both a file and the directory of '{}'", path, below)};
}

/// A link that the kernel refuses becomes a copy: to a file of another user in a shared cache
/// (fs.protected_hardlinks), from another file system, or one of very many.
Result<void> LinkOrCopy(Fs& fs, const AbsPath& from, const AbsPath& to) {
  Result<void> linked = fs.CreateHardLink(from, to);
  if (linked) return linked;
  const int code = linked.error().sys_errno();
  return code == EPERM || code == EXDEV || code == EMLINK ? fs.CopyFile(from, to) : linked;
}

}  // namespace

Result<void> TreeBuilder::Reserve(const RelPath& path) {
  if (entries_.contains(path.str())) {
    return Error(ErrorCode::kAlreadyExists, fmt::format("two files would have the name '{}'", path.str()));
  }
  // Sorted names put all files below a directory behind "directory/", so one look-up finds the first of them.
  const std::string folder = path.str() + "/";
  if (const auto below = entries_.lower_bound(folder);
      below != entries_.end() && below->first.starts_with(folder)) {
    return FileAndFolder(path.str(), below->first);
  }
  // The other direction: no directory above `path` may be a file.
  for (std::size_t end = folder.find('/'); end < path.str().size(); end = folder.find('/', end + 1)) {
    const std::string above = folder.substr(0, end);
    if (entries_.contains(above)) return FileAndFolder(above, path.str());
  }
  return env_.fs.MakeDirs((root_ / path).Parent());
}

Result<void> TreeBuilder::Link(const StagedTree& from, const TreeEntry& entry, const RelPath& path) {
  PTPKG_CHECK(Reserve(path));
  if (entry.kind == FileKind::kSymlink) {
    PTPKG_CHECK(env_.fs.CreateSymlink(entry.link_target, root_ / path));
  } else {
    PTPKG_CHECK(LinkOrCopy(env_.fs, from.root / entry.path, root_ / path));
  }
  TreeEntry added = entry;
  added.path = path;
  entries_.emplace(path.str(), std::move(added));
  return Ok();
}

Result<void> TreeBuilder::Copy(const StagedTree& from, const TreeEntry& entry, const RelPath& path,
                               std::uint32_t mode) {
  PTPKG_CHECK(Reserve(path));
  // A link would share its mode with the old file.
  PTPKG_CHECK(env_.fs.CopyFile(from.root / entry.path, root_ / path));
  PTPKG_CHECK(env_.fs.SetMode(root_ / path, mode));
  TreeEntry added = entry;
  added.path = path;
  added.mode = mode;
  entries_.emplace(path.str(), std::move(added));
  return Ok();
}

Result<void> TreeBuilder::AddText(const RelPath& path, std::string_view text, std::uint32_t mode) {
  PTPKG_CHECK(Reserve(path));
  PTPKG_TRY(TreeEntry entry, WriteTextEntry(env_, root_, path, text, mode));
  entries_.emplace(path.str(), std::move(entry));
  return Ok();
}

StagedTree TreeBuilder::Finish() && {
  StagedTree tree{.root = root_};
  tree.entries.reserve(entries_.size());
  for (auto& [path, entry] : entries_) tree.entries.push_back(std::move(entry));
  return tree;
}

Result<void> AddTextToTree(Env& env, StagedTree& tree, const RelPath& path, std::string_view text) {
  const auto place =
      std::lower_bound(tree.entries.begin(), tree.entries.end(), path,
                       [](const TreeEntry& entry, const RelPath& wanted) { return entry.path < wanted; });
  if (place != tree.entries.end() && place->path == path) {
    return Error(ErrorCode::kAlreadyExists, fmt::format("two files would have the name '{}'", path.str()));
  }
  PTPKG_TRY(TreeEntry entry, WriteTextEntry(env, tree.root, path, text, 0644));
  tree.entries.insert(place, std::move(entry));
  return Ok();
}

}  // namespace ptpkg::convert
