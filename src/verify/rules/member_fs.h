#pragma once
// Read-only file system over the members of a zip. Layer: verify.

#include <map>

#include "archive/archive_member_pass.h"
#include "support/files/overlay_fs.h"

namespace ptpkg::verify {

/// Below the path of the zip itself, where no file can lie, its members; everywhere else another file system.
/// Opening a member inflates it at the first read, as a whole: for texts, and for the rare look into a
/// library that the one pass over all members did not take (archive::ZipMembers::Visit). Symlinks are not
/// followed there: no link in a zip leads out of it.
class MemberFs final : public OverlayFs {
 public:
  /// Borrows both.
  MemberFs(Fs& other, const AbsPath& zip, const archive::ZipMembers& members);

  /// The first bytes of a member, so that looking at them inflates nothing; all of it if it has no more.
  /// Borrows them.
  void SetHead(std::size_t index, const std::string* head) { heads_[index] = head; }

 private:
  struct Node {
    std::optional<std::size_t> member = {};  ///< nullopt: a directory.
    std::vector<std::string> children = {};  ///< Sorted names in a directory.
    std::uint64_t inode = 0;
  };
  void AddFolderOf(const std::string& path);
  [[nodiscard]] bool IsOwn(const AbsPath& path) const override;
  [[nodiscard]] Result<FileStat> StatOwn(const AbsPath& path) const override;
  [[nodiscard]] Result<std::unique_ptr<File>> OpenOwn(const AbsPath& path) const override;
  [[nodiscard]] Result<std::string> ReadOwnLink(const AbsPath& path) const override;
  [[nodiscard]] Result<std::vector<std::string>> ListOwn(const AbsPath& path) const override;
  /// Errors: kNotFound.
  [[nodiscard]] Result<const Node*> Find(const AbsPath& path) const;

  AbsPath zip_;
  const archive::ZipMembers& members_;
  std::vector<const std::string*> heads_;           // null: not set
  std::map<std::string, Node, std::less<>> nodes_;  // by path below the zip, "" for its top
};

}  // namespace ptpkg::verify
