#pragma once
// The names of a tree, and where paths through it lead. Layer: verify. Source: path_resolution(7): ".." is
// the parent of the folder that was really reached, and a folder that is not there ends the walk.

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "support/env.h"

namespace ptpkg::verify {

struct TreeNode {
  FileKind kind = FileKind::kRegular;
  std::string target = {};  ///< Of a symlink, as written.
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
  std::string path = {};           ///< kFound: the place without links and dots, "" for the root.
  const TreeNode* node = nullptr;  ///< kFound: what is there, never a symlink.
};

/// `name` in `folder`, "" being the root.
std::string Child(const std::string& folder, std::string_view name);

/// A picture of the tree at one moment; walks need no file system.
class TreeMap {
 public:
  TreeMap();

  /// Lists `root`. Errors: kIo, kNotFound, kCancelled; kInvalidInput for folders nested more than 128 deep.
  static Result<TreeMap> Read(Env& env, const AbsPath& root);

  /// Follows `text` from `folder`, the path of a folder in nodes(). Links to absolute paths below the root
  /// are followed.
  [[nodiscard]] Walk Follow(std::string_view folder, std::string_view text) const;

  /// The folder that Follow ends at; nullopt where it ends elsewhere.
  [[nodiscard]] std::optional<std::string> FollowToFolder(std::string_view folder,
                                                          std::string_view text) const;

  /// By path, "" for the root.
  [[nodiscard]] const std::map<std::string, TreeNode, std::less<>>& nodes() const { return nodes_; }

 private:
  /// Puts what `link` says before the rest of the way; from the root on when it is absolute. False: outside.
  bool PutAhead(const TreeNode& link, std::string& at, std::deque<std::string>& ahead) const;
  Result<void> List(Env& env, const AbsPath& root, const std::string& folder, int depth);

  std::string root_;
  std::map<std::string, TreeNode, std::less<>> nodes_;
};

}  // namespace ptpkg::verify
