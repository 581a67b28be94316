#include "support/files/locked_file.h"

#include <cerrno>

namespace ptpkg {
namespace {

bool MayNotWrite(const Error& error) {
  const int number = error.sys_errno();
  return number == EACCES || number == EPERM || number == EROFS;
}

/// NFS gives an exclusive lock only to a handle that may write.
Result<std::unique_ptr<File>> OpenFor(Fs& fs, const AbsPath& path, LockKind kind) {
  // A reader must not need write permission for a result of another user.
  if (kind == LockKind::kShared) return fs.Open(path, OpenMode::kRead);
  Result<std::unique_ptr<File>> file = fs.Open(path, OpenMode::kReadWrite);
  if (!file && MayNotWrite(file.error())) return fs.Open(path, OpenMode::kRead);
  return file;
}

Result<bool> StillNamed(Fs& fs, File& file, const AbsPath& path) {
  PTPKG_TRY(const FileStat held, file.Stat());
  const Result<FileStat> named = fs.Lstat(path);
  if (named) return named->inode == held.inode && named->device == held.device;
  if (named.error().code() == ErrorCode::kNotFound) return false;
  return named.error();
}

}  // namespace

Result<LockedFile> TryLockFile(Fs& fs, const AbsPath& path, LockKind kind) {
  Result<std::unique_ptr<File>> opened = OpenFor(fs, path, kind);
  if (!opened) {
    if (opened.error().code() == ErrorCode::kNotFound) return LockedFile{};
    return std::move(opened).error();
  }
  PTPKG_TRY(const LockOutcome outcome, (*opened)->TryLock(kind));
  if (outcome == LockOutcome::kBusy) return LockedFile{.state = LockState::kBusy, .file = nullptr};
  // The old holder can remove the file between our open and our lock. A lock on a file without a name
  // excludes nobody.
  PTPKG_TRY(const bool named, StillNamed(fs, **opened, path));
  if (!named) return LockedFile{};
  const LockState state = outcome == LockOutcome::kHeld ? LockState::kHeld : LockState::kUnlocked;
  return LockedFile{.state = state, .file = *std::move(opened)};
}

}  // namespace ptpkg
