#pragma once
// An Fs that breaks at a chosen operation, and the loop that breaks a function at each of its
// operations in turn.

#include <atomic>
#include <functional>

#include "support/files/fs.h"
#include "support/mem_fs.h"

namespace ptpkg::test {

/// Which operations count. Open of a new file, writes, resizes, syncs, closes of a writable file and
/// everything that changes names, modes or times is mutating; all else is reading.
enum class FaultScope : std::uint8_t { kMutating, kReading, kAny };

enum class FaultAfter : std::uint8_t {
  kRecover,  ///< Only that operation fails: a full disk, a bad sector.
  kDead,     ///< All later operations fail too and have no effect: the process was killed there.
};

/// How much of a write that fails reaches the file.
enum class FaultTear : std::uint8_t {
  kHalf,     ///< The first half of its bytes, the harshest for a reader.
  kAtPages,  ///< Of the first half the whole pages: a killed process stops between two, never inside one.
  kNothing,  ///< None: a full disk, as most file systems report it.
  kAll,      ///< All of them: the process died on its way back.
};

struct FaultPlan {
  std::uint64_t number = 0;  ///< The first operation in scope is 1; 0 never fails.
  int sys_errno = 5;         ///< EIO
  FaultScope scope = FaultScope::kAny;
  FaultAfter after = FaultAfter::kRecover;
  FaultTear tear = FaultTear::kHalf;
};

/// Thread-safe.
class FaultFs final : public Fs {
 public:
  /// Borrows `inner`.
  FaultFs(Fs& inner, FaultPlan plan) : inner_(inner), plan_(plan) {}

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
  Result<void> WriteThrough(const AbsPath& path, Bytes bytes) override;
  Result<void> CopyOwner(const AbsPath& from, const AbsPath& to) override;
  Result<void> CopyAttributes(const AbsPath& from, const AbsPath& to) override;
  Result<void> SyncDir(const AbsPath& path) override;
  Result<std::uint64_t> FreeBytes(const AbsPath& path) override;

  /// Calls `other` once, just before the operation of this number, of any scope, counted from 1: what another
  /// process does between two steps of this one.
  void Before(std::uint64_t number, std::function<void()> other) {
    other_at_ = number;
    other_ = std::move(other);
  }

  /// Operations in scope so far.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] bool fired() const { return fired_; }

 private:
  class Handle;

  /// Bytes of a failing write of `size` at `offset` that are written all the same.
  [[nodiscard]] std::size_t TornSize(std::uint64_t offset, std::size_t size) const;
  /// The error of this operation, if it is to fail.
  Result<void> Pass(bool mutating, std::string_view operation, const std::string& path);

  Fs& inner_;
  FaultPlan plan_;
  std::atomic<std::uint64_t> count_{0};
  std::atomic<bool> fired_{false};
  std::atomic<std::uint64_t> all_{0};
  std::uint64_t other_at_ = 0;
  std::function<void()> other_;
};

struct FaultLoop {
  FaultScope scope = FaultScope::kAny;
  FaultAfter after = FaultAfter::kRecover;
  FaultTear tear = FaultTear::kHalf;
  int sys_errno = 5;                          ///< EIO
  std::function<void(MemFs&)> setup = {};     ///< Fills the file system; may be empty.
  std::function<Result<void>(Fs&)> run = {};  ///< What is under test.
  /// Looks at what a failed run left; may be empty. `error` is what it returned.
  std::function<void(MemFs&, const Error&)> check = {};
  /// True where a failed clean-up is ignored on purpose. Else a fault that `run` swallows fails the test.
  bool may_swallow = false;
};

/// Runs `loop.run` on a new MemFs with operation N failing, N = 1, 2, … until a run does not get as
/// far as N, and expects that run to succeed, every other to fail, and no run to leave a file open.
/// Returns how many faults were tried.
int RunFaultLoop(const FaultLoop& loop);

}  // namespace ptpkg::test
