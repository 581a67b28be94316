#pragma once
// The members of a zip as a folder that can be read, so that checks need not know where a tree lies.
// Layer: verify.

#include <map>

#include "archive/member_pass.h"

namespace ptpkg::verify {

/// Below the path of the zip itself, where no file can lie, its members; everywhere else another file system.
/// What is opened is inflated when it is first read, as a whole: for texts, and for the rare look into a
/// library that the one pass over all members did not take (archive::ZipMembers::Visit). Symlinks are not
/// followed there: none of a zip leads out of it. Changes below the zip's path are kInternal.
class MemberFs final : public Fs {
 public:
  /// Borrows both.
  MemberFs(Fs& other, const AbsPath& zip, const archive::ZipMembers& members);

  /// The first bytes of a member, so that looking at them inflates nothing; all of it if it has no more.
  void SetHead(std::size_t index, std::string head) { heads_[index] = std::move(head); }

  Result<FileStat> Lstat(const AbsPath& path) override;
  Result<FileStat> Stat(const AbsPath& path) override;
  Result<std::unique_ptr<File>> Open(const AbsPath& path, OpenMode mode) override;
  Result<std::string> ReadLink(const AbsPath& path) override;
  Result<std::vector<std::string>> ListDir(const AbsPath& path) override;
  Result<void> MakeDirs(const AbsPath& path) override;
  Result<void> MakeDir(const AbsPath& path) override;
  Result<void> CreateSymlink(const std::string& target, const AbsPath& path) override;
  Result<void> CreateHardLink(const AbsPath& existing, const AbsPath& path) override;
  Result<void> Rename(const AbsPath& from, const AbsPath& to) override;
  Result<void> RenameNoReplace(const AbsPath& from, const AbsPath& to) override;
  Result<void> Remove(const AbsPath& path) override;
  Result<void> SetMode(const AbsPath& path, std::uint32_t mode) override;
  Result<void> SetMtime(const AbsPath& path, std::int64_t mtime_ns) override;
  Result<void> CopyFile(const AbsPath& from, const AbsPath& to) override;
  Result<void> SyncDir(const AbsPath& path) override;
  Result<std::uint64_t> FreeBytes(const AbsPath& path) override;

 private:
  struct Node {
    std::optional<std::size_t> member = {};  ///< nullopt: a folder.
    std::vector<std::string> children = {};  ///< Of a folder, sorted.
    std::uint64_t inode = 0;
  };
  void AddFolderOf(const std::string& path);
  [[nodiscard]] bool IsMine(const AbsPath& path) const;
  /// Errors: kNotFound.
  [[nodiscard]] Result<const Node*> Find(const AbsPath& path) const;
  /// Errors: kInternal below the zip.
  [[nodiscard]] Result<void> RefuseChange(const AbsPath& path) const;

  Fs& other_;
  AbsPath zip_;
  const archive::ZipMembers& members_;
  std::vector<std::string> heads_;
  std::map<std::string, Node, std::less<>> nodes_;  // by path below the zip, "" for its top
};

}  // namespace ptpkg::verify
