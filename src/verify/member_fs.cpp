#include "verify/member_fs.h"

#include <algorithm>
#include <fmt/core.h>
#include <mutex>

#include "support/read_only_file.h"

namespace ptpkg::verify {
namespace {

/// Inflates its member when more than the head is asked for.
class LazyMember final : public ReadOnlyFile {
 public:
  LazyMember(const archive::ZipMembers& members, std::size_t index, const std::string& head)
      : ReadOnlyFile(
            {.size_bytes = members.members()[index].size_bytes, .mode = members.members()[index].mode}),
        members_(members),
        index_(index),
        size_bytes_(members.members()[index].size_bytes),
        head_(head) {}

  Result<std::size_t> ReadAt(std::uint64_t offset, MutableBytes buffer) override {
    const std::uint64_t end = std::min<std::uint64_t>(size_bytes_, offset + buffer.size());
    if (offset >= size_bytes_) return std::size_t{0};
    if (end <= head_.size()) {
      head_.copy(reinterpret_cast<char*>(buffer.data()), end - offset, offset);
      return end - offset;
    }
    {
      const std::lock_guard lock(mutex_);
      if (content_ == nullptr) {
        PTPKG_TRY(content_, members_.OpenMember(index_));
      }
    }
    return content_->ReadAt(offset, buffer);
  }

 private:
  const archive::ZipMembers& members_;
  std::size_t index_;
  std::uint64_t size_bytes_;
  const std::string& head_;
  std::mutex mutex_;
  std::unique_ptr<File> content_;
};

}  // namespace

MemberFs::MemberFs(Fs& other, const AbsPath& zip, const archive::ZipMembers& members)
    : other_(other), zip_(zip), members_(members), heads_(members.members().size()) {
  nodes_.emplace("", Node{.inode = 1});
  for (std::size_t i = 0; i < members.members().size(); ++i) {
    const std::string& path = members.members()[i].path.str();
    AddFolderOf(path);
    nodes_.emplace(path, Node{.member = i, .inode = nodes_.size() + 1});
  }
  for (auto& [path, node] : nodes_) std::sort(node.children.begin(), node.children.end());
}

/// Notes `path` in its folder, and that one in its own, up to one that is known.
void MemberFs::AddFolderOf(const std::string& path) {
  std::string child = path;
  while (true) {
    const std::size_t slash = child.rfind('/');
    std::string folder = slash == std::string::npos ? "" : child.substr(0, slash);
    const auto [place, fresh] = nodes_.try_emplace(folder, Node{.inode = nodes_.size() + 1});
    place->second.children.push_back(slash == std::string::npos ? child : child.substr(slash + 1));
    if (!fresh) return;
    child = std::move(folder);
  }
}

bool MemberFs::IsMine(const AbsPath& path) const { return path.IsWithin(zip_); }

Result<const MemberFs::Node*> MemberFs::Find(const AbsPath& path) const {
  std::string_view below = std::string_view(path.str()).substr(zip_.str().size());
  if (below.starts_with('/')) below.remove_prefix(1);
  const auto found = nodes_.find(below);
  if (found != nodes_.end()) return &found->second;
  return Error(ErrorCode::kNotFound, fmt::format("'{}' has no member '{}'", zip_.str(), below));
}

Result<void> MemberFs::RefuseChange(const AbsPath& path) const {
  if (!IsMine(path)) return Ok();
  return Error(ErrorCode::kInternal,
               fmt::format("'{}' is a member of a zip, which is only read", path.str()));
}

Result<FileStat> MemberFs::Lstat(const AbsPath& path) {
  if (!IsMine(path)) return other_.Lstat(path);
  PTPKG_TRY(const Node* const node, Find(path));
  FileStat stat{.kind = FileKind::kDirectory, .mode = 0755, .inode = node->inode};
  if (node->member) {
    const archive::ArchiveMember& member = members_.members()[*node->member];
    stat.kind = member.kind;
    stat.mode = member.mode;
    stat.size_bytes = member.size_bytes;
  }
  return stat;
}

Result<FileStat> MemberFs::Stat(const AbsPath& path) {
  return IsMine(path) ? Lstat(path) : other_.Stat(path);
}

Result<std::unique_ptr<File>> MemberFs::Open(const AbsPath& path, OpenMode mode) {
  if (!IsMine(path)) return other_.Open(path, mode);
  if (mode != OpenMode::kRead) PTPKG_CHECK(RefuseChange(path));
  PTPKG_TRY(const Node* const node, Find(path));
  if (!node->member || members_.members()[*node->member].kind != FileKind::kRegular) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a regular file", path.str()));
  }
  return std::unique_ptr<File>(std::make_unique<LazyMember>(members_, *node->member, heads_[*node->member]));
}

Result<std::string> MemberFs::ReadLink(const AbsPath& path) {
  if (!IsMine(path)) return other_.ReadLink(path);
  PTPKG_TRY(const Node* const node, Find(path));
  if (!node->member || members_.members()[*node->member].kind != FileKind::kSymlink) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is no symlink", path.str()));
  }
  return members_.members()[*node->member].link_target;
}

Result<std::vector<std::string>> MemberFs::ListDir(const AbsPath& path) {
  if (!IsMine(path)) return other_.ListDir(path);
  PTPKG_TRY(const Node* const node, Find(path));
  if (node->member) return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is no folder", path.str()));
  return node->children;
}

Result<void> MemberFs::MakeDirs(const AbsPath& path) {
  PTPKG_CHECK(RefuseChange(path));
  return other_.MakeDirs(path);
}

Result<void> MemberFs::MakeDir(const AbsPath& path) {
  PTPKG_CHECK(RefuseChange(path));
  return other_.MakeDir(path);
}

Result<void> MemberFs::CreateSymlink(const std::string& target, const AbsPath& path) {
  PTPKG_CHECK(RefuseChange(path));
  return other_.CreateSymlink(target, path);
}

Result<void> MemberFs::CreateHardLink(const AbsPath& existing, const AbsPath& path) {
  PTPKG_CHECK(RefuseChange(existing));
  PTPKG_CHECK(RefuseChange(path));
  return other_.CreateHardLink(existing, path);
}

Result<void> MemberFs::Rename(const AbsPath& from, const AbsPath& to) {
  PTPKG_CHECK(RefuseChange(from));
  PTPKG_CHECK(RefuseChange(to));
  return other_.Rename(from, to);
}

Result<void> MemberFs::RenameNoReplace(const AbsPath& from, const AbsPath& to) {
  PTPKG_CHECK(RefuseChange(from));
  PTPKG_CHECK(RefuseChange(to));
  return other_.RenameNoReplace(from, to);
}

Result<void> MemberFs::Remove(const AbsPath& path) {
  PTPKG_CHECK(RefuseChange(path));
  return other_.Remove(path);
}

Result<void> MemberFs::SetMode(const AbsPath& path, std::uint32_t mode) {
  PTPKG_CHECK(RefuseChange(path));
  return other_.SetMode(path, mode);
}

Result<void> MemberFs::SetMtime(const AbsPath& path, std::int64_t mtime_ns) {
  PTPKG_CHECK(RefuseChange(path));
  return other_.SetMtime(path, mtime_ns);
}

Result<void> MemberFs::CopyFile(const AbsPath& from, const AbsPath& to) {
  PTPKG_CHECK(RefuseChange(from));
  PTPKG_CHECK(RefuseChange(to));
  return other_.CopyFile(from, to);
}

Result<void> MemberFs::SyncDir(const AbsPath& path) {
  PTPKG_CHECK(RefuseChange(path));
  return other_.SyncDir(path);
}

Result<std::uint64_t> MemberFs::FreeBytes(const AbsPath& path) { return other_.FreeBytes(path); }

}  // namespace ptpkg::verify
