// The simulation of ld.so follows paths millions of times. A snapshot of all names and links answers without
// system calls. The walk is the kernel's (path_resolution(7)). A link puts its target in front of the rest of
// the way, and ".." is the parent of the directory that was really reached. Files of a wheel in
// *.data/platlib and *.data/purelib have a second, installed path (installed_), since their $ORIGIN is that
// one after the installation. A file that is really there comes first.

#include "verify/rules/tree_map.h"

#include <deque>
#include <fmt/core.h>

#include "support/limits.h"
#include "support/text/name_problem.h"
#include "support/text/text.h"

namespace ptpkg::verify {

std::string Child(const std::string& folder, std::string_view name) {
  return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
}

std::optional<std::string> InstalledPath(const std::string& member) {
  const std::size_t top = member.find('/');
  if (top == std::string::npos || !std::string_view(member).substr(0, top).ends_with(".data")) return member;
  for (const std::string_view scheme : {"/platlib/", "/purelib/"}) {
    if (member.compare(top, scheme.size(), scheme) == 0) return member.substr(top + scheme.size());
  }
  return std::nullopt;
}

namespace {

constexpr int kMaxLinks = 40;  // as the kernel follows

/// `path` below `root`, both absolute; nullopt if it lies elsewhere.
std::optional<std::string> Below(std::string_view path, std::string_view root) {
  if (!path.starts_with(root)) return std::nullopt;
  path.remove_prefix(root.size());
  if (!path.empty() && path.front() != '/') return std::nullopt;
  return std::string(path);
}

}  // namespace

TreeMap::TreeMap() { nodes_[""] = {.kind = FileKind::kDirectory}; }

Result<TreeMap> TreeMap::Read(Env& env, const AbsPath& root) {
  TreeMap map;
  map.root_ = root.str() == "/" ? "" : root.str();
  PTPKG_CHECK(map.List(env, root, "", 0));
  for (const auto& [path, node] : map.nodes_) {
    const auto installed = InstalledPath(path);
    if (installed && *installed != path && !map.nodes_.contains(*installed))
      map.installed_.emplace(*installed, path);
  }
  return map;
}

Result<void> TreeMap::List(Env& env, const AbsPath& root, const std::string& folder, int depth) {
  PTPKG_CHECK(env.cancel.Check());
  if (depth > static_cast<int>(limits::kFolderDepth)) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is more than {} directories deep",
                                                       ShownName(folder), limits::kFolderDepth));
  }
  PTPKG_TRY(const AbsPath here, AbsPath::Resolve(root, folder.empty() ? "." : folder));
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(here));
  for (const std::string& name : names) {
    PTPKG_TRY(const RelPath path, RelPath::Parse(Child(folder, name)));
    PTPKG_TRY(const FileStat stat, env.fs.Lstat(root / path));
    TreeNode node{.kind = stat.kind, .target = {}, .device = stat.device, .inode = stat.inode};
    if (stat.kind == FileKind::kSymlink) {
      PTPKG_TRY(node.target, env.fs.ReadLink(root / path));
    }
    nodes_.insert_or_assign(path.str(), std::move(node));
    if (stat.kind == FileKind::kDirectory) PTPKG_CHECK(List(env, root, path.str(), depth + 1));
  }
  return Ok();
}

namespace {

/// The directory above; nullopt for the top.
std::optional<std::string> FolderAbove(const std::string& at) {
  if (at.empty()) return std::nullopt;
  const std::size_t slash = at.rfind('/');
  return at.substr(0, slash == std::string::npos ? 0 : slash);
}

}  // namespace

bool TreeMap::PrependLinkTarget(const TreeNode& link, std::string& at, std::deque<std::string>& ahead) const {
  std::string target = link.target;
  if (target.starts_with('/')) {
    const auto below = Below(target, root_);
    if (!below) return false;
    target = *below;
    at.clear();
  }
  const std::vector<std::string> more = Split(target, '/');
  ahead.insert(ahead.begin(), more.begin(), more.end());
  return true;
}

const std::pair<const std::string, TreeNode>* TreeMap::Find(const std::string& path) const {
  auto found = nodes_.find(path);
  if (found == nodes_.end()) {
    const auto moved = installed_.find(path);
    if (moved != installed_.end()) found = nodes_.find(moved->second);
  }
  return found == nodes_.end() ? nullptr : &*found;
}

Walk TreeMap::Follow(std::string_view folder, std::string_view text) const {
  std::string at(folder);
  const std::vector<std::string> parts = Split(text, '/');
  std::deque<std::string> ahead(parts.begin(), parts.end());
  int links = 0;
  while (!ahead.empty()) {
    const std::string part = std::move(ahead.front());
    ahead.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      const std::optional<std::string> above = FolderAbove(at);
      if (!above) return {.end = WalkEnd::kOutside};
      at = *above;
      continue;
    }
    const std::string child = Child(at, part);
    const auto* const found = Find(child);
    if (found == nullptr) return {.end = WalkEnd::kMissing};
    const TreeNode& node = found->second;
    if (node.kind == FileKind::kDirectory) {
      at = child;
    } else if (node.kind == FileKind::kSymlink) {
      if (++links > kMaxLinks) return {.end = WalkEnd::kLoop};
      if (!PrependLinkTarget(node, at, ahead)) return {.end = WalkEnd::kOutside};
    } else {
      // A file in the middle of a path is ENOTDIR for the kernel. ld.so treats it like a missing file.
      if (!ahead.empty()) return {.end = WalkEnd::kMissing};
      return {.end = WalkEnd::kFound, .path = found->first, .node = &node};
    }
  }
  return {.end = WalkEnd::kFound, .path = at, .node = &Find(at)->second};
}

std::optional<std::string> TreeMap::FollowToFolder(std::string_view folder, std::string_view text) const {
  Walk walk = Follow(folder, text);
  if (walk.end != WalkEnd::kFound || walk.node->kind != FileKind::kDirectory) return std::nullopt;
  return std::move(walk.path);
}

}  // namespace ptpkg::verify
