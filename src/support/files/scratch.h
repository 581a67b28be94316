#pragma once
// Creates and cleans up scratch files and directories. Layer: support.
//
//   <parent>/<prefix>-<12 hex digits>.ptpkg-tmp/   a directory: ".lease" (lease.h), and "d" for its user
//   <parent>/.<name>.<12 hex digits>.ptpkg-tmp     a file that is locked itself (atomic_file.h)
//
// The name marks a scratch entry, wherever it is; the lock shows whether somebody uses it. Names of earlier
// versions, with a process id ("check-4711-0"), are recognised too: they hold no lock, so nobody uses them.

#include <string>
#include <string_view>
#include <vector>

#include "support/files/fs.h"
#include "support/files/lease.h"

namespace ptpkg {

/// A new scratch directory, removed with its content on destruction. While it lives it is leased.
class TempDir {
 public:
  /// Makes `parent` too, and first removes abandoned entries there. Errors: kIo, kAlreadyExists (`parent` is
  /// not a directory).
  static Result<TempDir> Create(Fs& fs, const AbsPath& parent, std::string_view prefix);

  TempDir(TempDir&&) noexcept;
  TempDir& operator=(TempDir&&) = delete;
  ~TempDir();

  /// An empty directory without the lease. It may be renamed away: then it is the caller's.
  [[nodiscard]] const AbsPath& path() const { return path_; }
  /// Renames path() to `target`, whose parent must exist, and removes the rest. Errors: kAlreadyExists if
  /// `target` is a directory with content, kIo; the content is then removed.
  Result<void> MoveTo(const AbsPath& target) &&;

 private:
  TempDir(Fs& fs, Lease lease, AbsPath path) : fs_(&fs), lease_(std::move(lease)), path_(std::move(path)) {}

  Fs* fs_;
  std::optional<Lease> lease_;  // nullopt once moved from
  AbsPath path_;
};

/// Removes entries with a scratch name directly in `parent`, of any kind, that nobody holds. A missing parent
/// is not an error. Entries that change meanwhile, or belong to another user, stay for the next time. So does
/// everything on a file system without locks, and in directories that everybody can write to. Two calls at
/// once are harmless, and so is kill -9 at any moment. Errors: kIo, kInvalidInput (`parent` is not a
/// directory).
Result<void> RemoveAbandoned(Fs& fs, const AbsPath& parent);
/// Like the above; warns once in a process when something stays because there are no locks.
Result<void> RemoveAbandoned(Env& env, const AbsPath& parent);

enum class ScratchState : std::uint8_t {
  kInUse,
  kAbandoned,
  kUnknown,  ///< The file system has no locks.
};

struct Scratch {
  AbsPath path;
  ScratchState state = ScratchState::kUnknown;
};

/// Entries with a scratch name directly in `parent`, sorted by name; a missing parent has none. Errors: kIo.
Result<std::vector<Scratch>> ListScratch(Fs& fs, const AbsPath& parent);

/// "<prefix>-<random>.ptpkg-tmp".
std::string NewScratchFolderName(std::string_view prefix);
/// ".<name>.<random>.ptpkg-tmp"; a long name is cut, so that this one is legal whenever that is.
std::string NewScratchFileName(std::string_view name);
bool IsScratchFolderName(std::string_view name);
bool IsScratchFileName(std::string_view name);

}  // namespace ptpkg
