// Checks open files by their path. This file system shows them the members of a zip, so that nothing is
// unpacked. The pass over all members has kept the first bytes of each (SetHead). Checks that only look at a
// magic number inflate nothing. A read beyond the head inflates the whole member once, under a lock: checks
// run in several threads. Each node has an inode of its own, because the simulation of ld.so recognizes a
// file by device and inode.

#include "verify/rules/member_fs.h"

#include <algorithm>
#include <fmt/core.h>
#include <mutex>

#include "support/files/read_only_file.h"

namespace ptpkg::verify {
namespace {

/// Inflates its member when more than the head is asked for.
class LazyMember final : public ReadOnlyFile {
 public:
  LazyMember(const archive::ZipMembers& members, std::size_t index, std::string_view head)
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
  std::string_view head_;
  std::mutex mutex_;
  std::unique_ptr<File> content_;
};

}  // namespace

MemberFs::MemberFs(Fs& other, const AbsPath& zip, const archive::ZipMembers& members)
    : OverlayFs(other, "a member of a zip"), zip_(zip), members_(members), heads_(members.members().size()) {
  nodes_.emplace("", Node{.inode = 1});
  for (std::size_t i = 0; i < members.members().size(); ++i) {
    const std::string& path = members.members()[i].path.str();
    AddFolderOf(path);
    nodes_.emplace(path, Node{.member = i, .inode = nodes_.size() + 1});
  }
  for (auto& [path, node] : nodes_) std::sort(node.children.begin(), node.children.end());
}

/// Notes `path` in its directory, and that one in its own, up to one that is known.
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

bool MemberFs::IsOwn(const AbsPath& path) const { return path.IsWithin(zip_); }

Result<const MemberFs::Node*> MemberFs::Find(const AbsPath& path) const {
  std::string_view below = std::string_view(path.str()).substr(zip_.str().size());
  if (below.starts_with('/')) below.remove_prefix(1);
  const auto found = nodes_.find(below);
  if (found != nodes_.end()) return &found->second;
  return Error(ErrorCode::kNotFound, fmt::format("'{}' has no member '{}'", zip_.str(), below));
}

Result<FileStat> MemberFs::StatOwn(const AbsPath& path) const {
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

Result<std::unique_ptr<File>> MemberFs::OpenOwn(const AbsPath& path) const {
  PTPKG_TRY(const Node* const node, Find(path));
  if (!node->member || members_.members()[*node->member].kind != FileKind::kRegular) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a regular file", path.str()));
  }
  const std::string* head = heads_[*node->member];
  return std::unique_ptr<File>(std::make_unique<LazyMember>(
      members_, *node->member, head == nullptr ? std::string_view() : std::string_view(*head)));
}

Result<std::string> MemberFs::ReadOwnLink(const AbsPath& path) const {
  PTPKG_TRY(const Node* const node, Find(path));
  if (!node->member || members_.members()[*node->member].kind != FileKind::kSymlink) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a symlink", path.str()));
  }
  return members_.members()[*node->member].link_target;
}

Result<std::vector<std::string>> MemberFs::ListOwn(const AbsPath& path) const {
  PTPKG_TRY(const Node* const node, Find(path));
  if (node->member)
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a directory", path.str()));
  return node->children;
}

}  // namespace ptpkg::verify
