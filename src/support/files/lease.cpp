#include "support/files/lease.h"

#include <cerrno>
#include <chrono>
#include <fmt/core.h>

#include "support/env.h"
#include "support/files/locked_file.h"
#include "support/files/scratch.h"

namespace ptpkg {
namespace {

// Each turn is lost only to another process that has just removed the file; two in a row were never seen.
constexpr int kLockAttempts = 100;
constexpr int kTurns = 100;  // 1 s
constexpr std::chrono::milliseconds kTurn{10};

bool IsReadOnlyForUs(const Error& error) {
  const int number = error.sys_errno();
  return number == EACCES || number == EPERM || number == EROFS;
}

Result<void> RemoveIfThere(Fs& fs, const AbsPath& path) {
  Result<void> removed = fs.Remove(path);
  if (!removed && removed.error().code() == ErrorCode::kNotFound) return Ok();
  return removed;
}

}  // namespace

Result<void> MakeRemovable(Fs& fs, const AbsPath& folder) {
  constexpr std::uint32_t kOwnerAll = 0700;
  PTPKG_TRY(const FileStat stat, fs.Lstat(folder));
  if ((stat.mode & kOwnerAll) == kOwnerAll) return Ok();
  return fs.SetMode(folder, stat.mode | kOwnerAll);
}

Result<std::optional<Lease>> Lease::Try(Fs& fs, const AbsPath& folder, LockKind kind) {
  const AbsPath path = folder / kLeaseName;
  for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
    PTPKG_TRY(LockedFile held, TryLockFile(fs, path, kind));
    if (held.state == LockState::kBusy) return std::optional<Lease>();
    if (held.state != LockState::kGone) {
      return std::optional(Lease(fs, folder, std::move(held.file), held.state == LockState::kHeld));
    }
    // Not closed with an error check: nothing was written.
    const Result<std::unique_ptr<File>> made = fs.Open(path, OpenMode::kCreateNew);
    if (made || made.error().code() == ErrorCode::kAlreadyExists) continue;
    if (made.error().code() == ErrorCode::kNotFound) return std::optional<Lease>();
    if (!IsReadOnlyForUs(made.error())) return made.error();
    // A reader that can't write here goes on without a lock. A cleaner doesn't.
    if (kind == LockKind::kExclusive) return std::optional<Lease>();
    return std::optional(Lease(fs, folder, nullptr, /*is_locked=*/false));
  }
  return Error(ErrorCode::kIo, fmt::format("cannot lock '{}': it keeps disappearing", path.str()));
}

Result<void> Lease::Remove() && {
  const Lease self = std::move(*this);  // lets go at the end, whatever way out is taken
  PTPKG_CHECK(MakeRemovable(*fs_, self.folder_));
  AbsPath folder = self.folder_;
  if (!IsScratchFolderName(folder.Name())) {
    folder = folder.Parent() / NewScratchFolderName("removed");
    PTPKG_CHECK(fs_->Rename(self.folder_, folder));
  }
  PTPKG_TRY(const std::vector<std::string> names, fs_->ListDir(folder));
  for (const std::string& name : names) {
    if (name != kLeaseName) PTPKG_CHECK(RemoveTree(*fs_, folder / name));
  }
  // The lease goes last. Until then no other cleaner begins, and after a kill the next run finds the lease
  // without a holder.
  PTPKG_CHECK(RemoveIfThere(*fs_, folder / kLeaseName));
  return RemoveIfThere(*fs_, folder);
}

Result<std::optional<Lease>> LeaseShared(Env& env, const AbsPath& result) {
  PTPKG_TRY(std::optional<Lease> lease, Lease::Try(env.fs, result, LockKind::kShared));
  // The other holder either removes the result, which then loses its name at once, or only looks whether it
  // is in use (`ptpkg cache`). Both take a few system calls, unless that process is stopped in between.
  for (int turn = 0; !lease && turn < kTurns; ++turn) {
    PTPKG_TRY(const bool there, Exists(env.fs, result));
    if (!there) return lease;
    env.clock.SleepFor(kTurn);
    PTPKG_TRY(std::optional<Lease> next, Lease::Try(env.fs, result, LockKind::kShared));
    if (next) lease.emplace(std::move(*next));
  }
  if (!lease) return lease;
  const auto now = env.clock.WallNow().time_since_epoch();
  const auto touched =
      env.fs.SetMtime(result / kLeaseName, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  const bool tolerable =
      touched || touched.error().code() == ErrorCode::kNotFound || IsReadOnlyForUs(touched.error());
  if (!tolerable) return touched.error();
  return lease;
}

Result<Lease> LeaseCacheDir(Env& env, const AbsPath& folder) {
  constexpr int kTakeAttempts = 10;
  for (int attempt = 0; attempt < kTakeAttempts; ++attempt) {
    PTPKG_CHECK(env.fs.MakeDirs(folder));
    PTPKG_TRY(std::optional<Lease> lease, LeaseShared(env, folder));
    if (lease) return *std::move(lease);
  }
  return Error(ErrorCode::kIo, fmt::format("'{}' is being removed by another process", folder.str()))
      .WithHint("try again");
}

}  // namespace ptpkg
