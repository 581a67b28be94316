#pragma once
// Lock on a directory while it is in use. Layer: support.
//
// Whoever holds that lock is alive; nothing else shows it. A process id means nothing to another PID
// namespace or to another host on the same cache, and is used again. The kernel lets go of the lock when its
// process ends, kill -9 included. Where the file system has no locks (some network and FUSE mounts), a lease
// is granted without one, and nothing is ever removed on the ground that nobody holds it.

#include <memory>
#include <optional>

#include "support/files/fs.h"

namespace ptpkg {

struct Env;

class Lease {
 public:
  /// Takes the lease of `folder` without waiting; makes the file where it is missing. nullopt: another holds
  /// it in a way that excludes `kind`, or the directory is gone, or (kExclusive) it is another user's.
  /// Errors: kIo, kInvalidInput (`folder` is none).
  static Result<std::optional<Lease>> Try(Fs& fs, const AbsPath& folder, LockKind kind);

  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&&) = delete;
  ~Lease() = default;  ///< Releases the lease.

  /// Its path at that time: the lease goes with the directory when that is renamed.
  [[nodiscard]] const AbsPath& folder() const { return folder_; }
  /// False where the file system has no locks, or cannot be written to (then nobody removes anything either).
  [[nodiscard]] bool is_locked() const { return is_locked_; }

  /// Removes the directory with all that is in it, and lets go. It loses its name first, so that nobody sees
  /// a part of it; a run that is killed halfway leaves a scratch directory (scratch.h). REQUIRES: kExclusive.
  /// Errors: kIo; what could not be removed stays without a lease, for the next RemoveAbandoned.
  Result<void> Remove() &&;

 private:
  Lease(Fs& fs, AbsPath folder, std::unique_ptr<File> file, bool is_locked)
      : fs_(&fs), folder_(std::move(folder)), file_(std::move(file)), is_locked_(is_locked) {}

  Fs* fs_;
  AbsPath folder_;
  std::unique_ptr<File> file_;
  bool is_locked_;
};

/// The lease of one who reads `result`, a directory of the store: shared, so that many may read and nobody
/// removes it meanwhile. The time of the ".lease" becomes now: it tells `ptpkg cache` the last use (a cache
/// that cannot be written to keeps the old one). nullopt: the result is gone or being removed; a lock that
/// somebody holds for a moment only is waited for, at most 1 s. Errors: kIo.
Result<std::optional<Lease>> LeaseShared(Env& env, const AbsPath& result);

/// Like LeaseShared, for a directory that is made if it is missing; retries when somebody is just cleaning it
/// away. Errors: kIo, also when that happens each time.
Result<Lease> LeaseCacheDir(Env& env, const AbsPath& folder);

/// Gives `folder` the rights that its owner needs to remove what is in it; a build script may have taken
/// them.
Result<void> MakeRemovable(Fs& fs, const AbsPath& folder);

/// The file in the directory that carries the lock; empty.
inline constexpr std::string_view kLeaseName = ".lease";

}  // namespace ptpkg
