#pragma once
// Resolves paths and symlinks within a tree. Layer: verify. Source: path_resolution(7): ".." is the parent of
// the directory that was really reached, and a missing directory ends the walk.

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "support/env.h"

namespace ptpkg::verify {

struct TreeNode {
  FileKind kind = FileKind::kRegular;
  std::string target = {};  ///< Target of a symlink, as written.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

enum class WalkEnd : std::uint8_t {
  kFound,
  kMissing,
  kOutside,  ///< Above the root, or a link to another place of this machine.
  kLoop,     ///< More links than the kernel follows.
};

struct Walk {
  WalkEnd end = WalkEnd::kMissing;
  /// kFound: the path without links and dots, "" for the root; for a file, its path in nodes().
  std::string path = {};
  const TreeNode* node = nullptr;  ///< kFound: the node there, never a symlink.
};

/// `name` in `folder`, "" being the root.
std::string Child(const std::string& folder, std::string_view name);

/// Installed path of a member of a wheel: "pkg/x.so" for "toy-1.0.data/platlib/pkg/x.so". nullopt for
/// members that do not go into site-packages. Source: PyPA binary distribution format, "The .data
/// directory".
std::optional<std::string> InstalledPath(const std::string& member);

/// A snapshot of the tree; walks need no file system. Files of a wheel in *.data/platlib and *.data/purelib
/// also exist where they are installed, so that walks from there continue as in site-packages.
class TreeMap {
 public:
  TreeMap();

  /// Lists `root`. Errors: kIo, kNotFound, kCancelled; kInvalidInput for directories nested more than 128
  /// deep.
  static Result<TreeMap> Read(Env& env, const AbsPath& root);

  /// Follows `text` from `folder`, the path of a directory in nodes() or of its installed place. Links to
  /// absolute paths below the root are followed.
  [[nodiscard]] Walk Follow(std::string_view folder, std::string_view text) const;

  /// The directory that Follow ends at; nullopt where it ends elsewhere.
  [[nodiscard]] std::optional<std::string> FollowToFolder(std::string_view folder,
                                                          std::string_view text) const;

  /// By path, "" for the root.
  [[nodiscard]] const std::map<std::string, TreeNode, std::less<>>& nodes() const { return nodes_; }

 private:
  /// Puts the target of `link` before the rest of the way; from the root on when it is absolute. False:
  /// outside.
  bool PrependLinkTarget(const TreeNode& link, std::string& at, std::deque<std::string>& ahead) const;
  Result<void> List(Env& env, const AbsPath& root, const std::string& folder, int depth);
  /// The node at `path`, its own or its installed one, with its own path; null if there is none.
  [[nodiscard]] const std::pair<const std::string, TreeNode>* Find(const std::string& path) const;

  std::string root_;
  std::map<std::string, std::string, std::less<>> installed_;  ///< Installed path → path in nodes_.
  std::map<std::string, TreeNode, std::less<>> nodes_;
};

}  // namespace ptpkg::verify
