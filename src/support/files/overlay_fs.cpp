// The overlay is read-only, so each call that changes something checks all of its paths before the other file
// system sees any of them. A path of the overlay never exists on disk: passing it on would create it there.

#include "support/files/overlay_fs.h"

#include <fmt/core.h>

namespace ptpkg {

Result<void> OverlayFs::RefuseChange(const AbsPath& path) const {
  if (!IsOwn(path)) return Ok();
  return Error(ErrorCode::kInternal, fmt::format("'{}' is {}, which is read-only", path.str(), what_));
}

Result<FileStat> OverlayFs::Lstat(const AbsPath& path) {
  return IsOwn(path) ? StatOwn(path) : other_.Lstat(path);
}

Result<FileStat> OverlayFs::Stat(const AbsPath& path) {
  return IsOwn(path) ? StatOwn(path) : other_.Stat(path);
}

Result<std::unique_ptr<File>> OverlayFs::Open(const AbsPath& path, OpenMode mode) {
  if (!IsOwn(path)) return other_.Open(path, mode);
  if (mode != OpenMode::kRead) PTPKG_CHECK(RefuseChange(path));
  return OpenOwn(path);
}

Result<std::string> OverlayFs::ReadLink(const AbsPath& path) {
  return IsOwn(path) ? ReadOwnLink(path) : other_.ReadLink(path);
}

Result<std::vector<std::string>> OverlayFs::ListDir(const AbsPath& path) {
  return IsOwn(path) ? ListOwn(path) : other_.ListDir(path);
}

Result<void> OverlayFs::MakeDirs(const AbsPath& path) {
  PTPKG_CHECK(RefuseChange(path));
  return other_.MakeDirs(path);
}

Result<void> OverlayFs::MakeDir(const AbsPath& path) {
  PTPKG_CHECK(RefuseChange(path));
  return other_.MakeDir(path);
}

Result<void> OverlayFs::CreateSymlink(const std::string& target, const AbsPath& path) {
  PTPKG_CHECK(RefuseChange(path));
  return other_.CreateSymlink(target, path);
}

Result<void> OverlayFs::CreateHardLink(const AbsPath& existing, const AbsPath& path) {
  PTPKG_CHECK(RefuseChange(existing));
  PTPKG_CHECK(RefuseChange(path));
  return other_.CreateHardLink(existing, path);
}

Result<void> OverlayFs::Rename(const AbsPath& from, const AbsPath& to) {
  PTPKG_CHECK(RefuseChange(from));
  PTPKG_CHECK(RefuseChange(to));
  return other_.Rename(from, to);
}

Result<void> OverlayFs::RenameNoReplace(const AbsPath& from, const AbsPath& to) {
  PTPKG_CHECK(RefuseChange(from));
  PTPKG_CHECK(RefuseChange(to));
  return other_.RenameNoReplace(from, to);
}

Result<void> OverlayFs::Remove(const AbsPath& path) {
  PTPKG_CHECK(RefuseChange(path));
  return other_.Remove(path);
}

Result<void> OverlayFs::SetMode(const AbsPath& path, std::uint32_t mode) {
  PTPKG_CHECK(RefuseChange(path));
  return other_.SetMode(path, mode);
}

Result<void> OverlayFs::SetMtime(const AbsPath& path, std::int64_t mtime_ns) {
  PTPKG_CHECK(RefuseChange(path));
  return other_.SetMtime(path, mtime_ns);
}

Result<void> OverlayFs::CopyFile(const AbsPath& from, const AbsPath& to) {
  PTPKG_CHECK(RefuseChange(from));
  PTPKG_CHECK(RefuseChange(to));
  return other_.CopyFile(from, to);
}

Result<void> OverlayFs::WriteThrough(const AbsPath& path, Bytes bytes) {
  PTPKG_CHECK(RefuseChange(path));
  return other_.WriteThrough(path, bytes);
}

Result<void> OverlayFs::CopyOwner(const AbsPath& from, const AbsPath& to) {
  PTPKG_CHECK(RefuseChange(from));
  PTPKG_CHECK(RefuseChange(to));
  return other_.CopyOwner(from, to);
}

Result<void> OverlayFs::CopyAttributes(const AbsPath& from, const AbsPath& to) {
  PTPKG_CHECK(RefuseChange(from));
  PTPKG_CHECK(RefuseChange(to));
  return other_.CopyAttributes(from, to);
}

Result<AbsPath> OverlayFs::RealPath(const std::string& text) { return other_.RealPath(text); }

Result<void> OverlayFs::SyncDir(const AbsPath& path) {
  PTPKG_CHECK(RefuseChange(path));
  return other_.SyncDir(path);
}

Result<std::uint64_t> OverlayFs::FreeBytes(const AbsPath& path) { return other_.FreeBytes(path); }

void VirtualFilesFs::Show(const AbsPath& path, const FileStat& stat, Make make) {
  shown_.insert_or_assign(path.str(), Shown{.stat = stat, .make = std::move(make)});
}

bool VirtualFilesFs::IsOwn(const AbsPath& path) const { return shown_.contains(path.str()); }

Result<FileStat> VirtualFilesFs::StatOwn(const AbsPath& path) const { return shown_.at(path.str()).stat; }

Result<std::unique_ptr<File>> VirtualFilesFs::OpenOwn(const AbsPath& path) const {
  return shown_.at(path.str()).make();
}

Result<std::string> VirtualFilesFs::ReadOwnLink(const AbsPath& path) const {
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a symlink", path.str()));
}

Result<std::vector<std::string>> VirtualFilesFs::ListOwn(const AbsPath& path) const {
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a directory", path.str()));
}

}  // namespace ptpkg
