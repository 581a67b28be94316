// Temporary files and directories, which the next run in the same place removes after a crash.
// The owner of scratch holds a lock (a Lease in a directory, the file itself otherwise). The kernel releases
// it at any death, so a free lock means abandoned.
// Between mkdir and the lock a directory looks abandoned. Only rmdir is safe there: it fails on a directory
// in use, and its maker starts again if it is gone (TempDir::Create). Names carry a random token and an
// ending of their own, so that cleaning never touches foreign files. Public directories such as /tmp are not
// cleaned, because another user could put a symlink where a directory is being removed.

#include "support/files/scratch.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <fmt/core.h>
#include <sys/random.h>
#include <utility>

#include "support/env.h"
#include "support/files/locked_file.h"

namespace ptpkg {
namespace {

constexpr std::string_view kSuffix = ".ptpkg-tmp";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHexDigits = "0123456789abcdef";
// 48 bits: one collision in 16 million names, and then the next name is taken.
constexpr std::size_t kTokenBytes = 6;
constexpr std::size_t kNameMaxBytes = 255;  // NAME_MAX of every common file system
constexpr int kFolderAttempts = 100;
// Prefixes of directories in versions before the leases; with "-<pid>-<n>" behind.
constexpr std::array<std::string_view, 6> kOldPrefixes = {"attempt",     "check",       "tree",
                                                          ".ptpkg-edit", ".ptpkg-pack", ".sources"};

std::string RandomToken() {
  std::array<unsigned char, kTokenBytes> bytes{};
  // Never short or interrupted for so few bytes, and blocks only before the machine has booted.
  const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
  PTPKG_ASSERT(got == static_cast<ssize_t>(bytes.size()));
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

bool ConsistsOf(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

bool IsToken(std::string_view text) { return text.size() == 2 * kTokenBytes && ConsistsOf(text, kHexDigits); }

/// "<pid>-<n>", as earlier versions made names unique.
bool IsOldToken(std::string_view text) {
  const std::size_t dash = text.find('-');
  return dash != std::string_view::npos && ConsistsOf(text.substr(0, dash), kDigits) &&
         ConsistsOf(text.substr(dash + 1), kDigits);
}

/// Errors of files that belong to another user, that change during the cleanup, or that only look like
/// scratch. A failed cleanup must not fail a run.
bool IsIgnorableCleanupError(const Error& error) {
  if (error.code() == ErrorCode::kInvalidInput) return true;
  constexpr std::array<int, 6> kReasons = {EACCES, EPERM, EROFS, ENOTEMPTY, EBUSY, ENOENT};
  return std::find(kReasons.begin(), kReasons.end(), error.sys_errno()) != kReasons.end();
}

Result<ScratchState> RemoveFolderIfAbandoned(Fs& fs, const AbsPath& folder) {
  // Without a lease yet: either its maker is just about to take it, and starts again when the directory is
  // gone, or it was killed there. Only an empty directory can be removed in one step, and only that is safe.
  const Result<void> removed = fs.Remove(folder);
  if (removed) return ScratchState::kAbandoned;
  if (!IsIgnorableCleanupError(removed.error())) return removed.error();
  PTPKG_CHECK(MakeRemovable(fs, folder));
  PTPKG_TRY(std::optional<Lease> lease, Lease::Try(fs, folder, LockKind::kExclusive));
  if (!lease) return ScratchState::kInUse;
  if (!lease->is_locked()) return ScratchState::kUnknown;
  PTPKG_CHECK(std::move(*lease).Remove());
  return ScratchState::kAbandoned;
}

Result<ScratchState> RemoveFileIfAbandoned(Fs& fs, const AbsPath& path) {
  PTPKG_TRY(const LockedFile held, TryLockFile(fs, path, LockKind::kExclusive));
  if (held.state == LockState::kUnlocked) return ScratchState::kUnknown;
  if (held.state != LockState::kHeld) return ScratchState::kInUse;
  PTPKG_CHECK(fs.Remove(path));
  return ScratchState::kAbandoned;
}

/// Which kind of scratch has the name of `path`, if it is what the name says.
Result<std::optional<FileKind>> ScratchKind(Fs& fs, const AbsPath& path) {
  const bool folder = IsScratchFolderName(path.Name());
  if (!folder && !IsScratchFileName(path.Name())) return std::optional<FileKind>();
  const Result<FileStat> stat = fs.Lstat(path);
  if (!stat && stat.error().code() == ErrorCode::kNotFound) return std::optional<FileKind>();
  if (!stat) return stat.error();
  if (folder && stat->kind == FileKind::kDirectory) return std::optional(stat->kind);
  if (IsScratchFileName(path.Name()) && stat->kind == FileKind::kRegular) return std::optional(stat->kind);
  return std::optional<FileKind>();
}

Result<std::vector<std::string>> NamesIn(Fs& fs, const AbsPath& parent) {
  Result<std::vector<std::string>> names = fs.ListDir(parent);
  if (!names && names.error().code() == ErrorCode::kNotFound) return std::vector<std::string>();
  return names;
}

/// Everybody may write to it, as to /tmp: whoever may exchange a directory for a symlink while it is being
/// removed must not get somebody else to remove it.
Result<bool> IsPublic(Fs& fs, const AbsPath& parent) {
  constexpr std::uint32_t kOthersWrite = 0002;
  const Result<FileStat> stat = fs.Stat(parent);
  if (!stat && stat.error().code() == ErrorCode::kNotFound) return false;
  if (!stat) return stat.error();
  return (stat->mode & kOthersWrite) != 0;
}

/// True if something stayed because it could not be locked.
Result<bool> Sweep(Fs& fs, const AbsPath& parent) {
  bool unknown = false;
  PTPKG_TRY(const bool is_public, IsPublic(fs, parent));
  if (is_public) return false;
  PTPKG_TRY(const std::vector<std::string> names, NamesIn(fs, parent));
  for (const std::string& name : names) {
    const AbsPath path = parent / name;
    PTPKG_TRY(const std::optional<FileKind> kind, ScratchKind(fs, path));
    if (!kind) continue;
    const Result<ScratchState> state =
        *kind == FileKind::kDirectory ? RemoveFolderIfAbandoned(fs, path) : RemoveFileIfAbandoned(fs, path);
    if (!state && !IsIgnorableCleanupError(state.error())) return state.error();
    unknown = unknown || (state && *state == ScratchState::kUnknown);
  }
  return unknown;
}

}  // namespace

std::string NewScratchFolderName(std::string_view prefix) {
  return fmt::format("{}-{}{}", prefix, RandomToken(), kSuffix);
}

std::string NewScratchFileName(std::string_view name) {
  const std::string tail = fmt::format(".{}{}", RandomToken(), kSuffix);
  // The name is only for people who look; the token makes it unique, so it can be cut.
  return fmt::format(".{}{}", name.substr(0, kNameMaxBytes - 1 - tail.size()), tail);
}

bool IsScratchFolderName(std::string_view name) {
  if (name.ends_with(kSuffix)) {
    name.remove_suffix(kSuffix.size());
    const std::size_t dash = name.rfind('-');
    return dash != std::string_view::npos && dash > 0 && IsToken(name.substr(dash + 1));
  }
  return std::any_of(kOldPrefixes.begin(), kOldPrefixes.end(), [&](std::string_view prefix) {
    return name.starts_with(prefix) && name.substr(prefix.size()).starts_with('-') &&
           IsOldToken(name.substr(prefix.size() + 1));
  });
}

bool IsScratchFileName(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(kSuffix)) return false;
  name.remove_suffix(kSuffix.size());
  const std::size_t dot = name.rfind('.');
  if (dot == 0 || dot == std::string_view::npos) return false;
  return IsToken(name.substr(dot + 1)) || IsOldToken(name.substr(dot + 1));
}

TempDir::TempDir(TempDir&& other) noexcept
    : fs_(other.fs_), lease_(std::exchange(other.lease_, std::nullopt)), path_(std::move(other.path_)) {}

TempDir::~TempDir() {
  // Nothing can be done about a failure here; RemoveAbandoned of a later run is the second net.
  if (lease_) static_cast<void>(std::move(*lease_).Remove());
}

Result<TempDir> TempDir::Create(Fs& fs, const AbsPath& parent, std::string_view prefix) {
  PTPKG_CHECK(fs.MakeDirs(parent));
  // Each new scratch directory cleans up after killed runs in the same place; no other moment would be sure
  // to come.
  PTPKG_CHECK(RemoveAbandoned(fs, parent));
  for (int attempt = 0; attempt < kFolderAttempts; ++attempt) {
    const AbsPath scratch = parent / NewScratchFolderName(prefix);
    Result<void> made = fs.MakeDir(scratch);
    if (!made && made.error().code() == ErrorCode::kAlreadyExists) continue;
    if (!made) return std::move(made).error();
    Result<std::optional<Lease>> lease = Lease::Try(fs, scratch, LockKind::kExclusive);
    if (!lease) {
      static_cast<void>(RemoveTree(fs, scratch));
      return std::move(lease).error();
    }
    // Somebody who cleans was faster than we: the directory is his.
    if (!*lease) continue;
    // The content lies one level below the lease. So MoveTo can rename the content away while the lease
    // stays.
    TempDir dir(fs, **std::move(lease), scratch / "d");
    PTPKG_CHECK(fs.MakeDir(dir.path_));
    return dir;
  }
  return Error(ErrorCode::kAlreadyExists,
               fmt::format("no free name for a directory '{}-…' in '{}'", prefix, parent.str()));
}

Result<void> TempDir::MoveTo(const AbsPath& target) && {
  const TempDir self = std::move(*this);
  return self.fs_->Rename(self.path_, target);
}

Result<void> RemoveAbandoned(Fs& fs, const AbsPath& parent) {
  PTPKG_TRY([[maybe_unused]] const bool unknown, Sweep(fs, parent));
  return Ok();
}

Result<void> RemoveAbandoned(Env& env, const AbsPath& parent) {
  PTPKG_TRY(const bool unknown, Sweep(env.fs, parent));
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): once in a process, not once a
  // directory.
  static std::atomic<bool> warned{false};
  if (unknown && !warned.exchange(true)) {
    env.reporter.Warn(
        fmt::format("'{}' is on a file system without locks: ptpkg cannot clean up after killed runs there",
                    parent.str()));
  }
  return Ok();
}

Result<std::vector<Scratch>> ListScratch(Fs& fs, const AbsPath& parent) {
  std::vector<Scratch> found;
  PTPKG_TRY(const std::vector<std::string> names, NamesIn(fs, parent));
  for (const std::string& name : names) {
    const AbsPath path = parent / name;
    PTPKG_TRY(const std::optional<FileKind> kind, ScratchKind(fs, path));
    if (!kind) continue;
    const AbsPath lock = *kind == FileKind::kDirectory ? path / kLeaseName : path;
    PTPKG_TRY(const LockedFile held, TryLockFile(fs, lock, LockKind::kShared));
    ScratchState state = ScratchState::kAbandoned;
    if (held.state == LockState::kBusy) state = ScratchState::kInUse;
    if (held.state == LockState::kUnlocked) state = ScratchState::kUnknown;
    found.push_back({path, state});
  }
  return found;
}

}  // namespace ptpkg
