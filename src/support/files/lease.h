#pragma once
// Lock on a directory while it is in use. Layer: support.
//
// The holder of that lock is alive; nothing else shows it. A process id means nothing to another PID
// namespace or to another host on the same cache, and is reused. The kernel releases the lock when its
// process ends, kill -9 included. If the file system has no locks (some network and FUSE mounts), a lease is
// granted without one. Then nothing is ever removed because it seems unused.

#include <memory>
#include <optional>

#include "support/files/fs.h"

namespace ptpkg {

struct Env;

class Lease {
 public:
  /// Takes the lease of `folder` without waiting, and makes the file if it is missing. nullopt: another
  /// process holds it in a way that excludes `kind`, or the directory is gone, or (kExclusive) it is another
  /// user's. Errors: kIo, kInvalidInput (`folder` is not a directory).
  static Result<std::optional<Lease>> Try(Fs& fs, const AbsPath& folder, LockKind kind);

  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&&) = delete;
  ~Lease() = default;  ///< Releases the lease.

  /// Path when the lease was taken: the lease stays with the directory when that is renamed.
  [[nodiscard]] const AbsPath& folder() const { return folder_; }
  /// False where the file system has no locks, or cannot be written to (then nobody removes anything either).
  [[nodiscard]] bool is_locked() const { return is_locked_; }

  /// Removes the directory with its content, and releases the lease. The directory loses its name first, so
  /// that nobody sees a part of it. A run that is killed halfway leaves a scratch directory (scratch.h).
  /// REQUIRES: kExclusive. Errors: kIo; remaining files stay without a lease, for the next RemoveAbandoned.
  Result<void> Remove() &&;

 private:
  Lease(Fs& fs, AbsPath folder, std::unique_ptr<File> file, bool is_locked)
      : fs_(&fs), folder_(std::move(folder)), file_(std::move(file)), is_locked_(is_locked) {}

  Fs* fs_;
  AbsPath folder_;
  std::unique_ptr<File> file_;
  bool is_locked_;
};

/// The lease of a reader of `result`, a directory of the store: shared, so that many can read and nobody
/// removes it meanwhile. Sets the time of ".lease" to now, which `ptpkg cache` shows as the last use (a
/// read-only cache keeps the old one). nullopt: the result is gone or being removed. Waits at most 1 s for a
/// lock that somebody holds briefly. Errors: kIo.
Result<std::optional<Lease>> LeaseShared(Env& env, const AbsPath& result);

/// Like LeaseShared, for a directory that is made if it is missing. Retries if a cleanup is just removing it.
/// Errors: kIo, also when that happens each time.
Result<Lease> LeaseCacheDir(Env& env, const AbsPath& folder);

/// Gives `folder` the permissions that its owner needs to remove its content; a build script can have removed
/// them.
Result<void> MakeRemovable(Fs& fs, const AbsPath& folder);

/// The file in the directory that carries the lock; empty.
inline constexpr std::string_view kLeaseName = ".lease";

}  // namespace ptpkg
