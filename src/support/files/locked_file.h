#pragma once
// Opens a file and takes its lock. Layer: support.

#include <memory>

#include "support/files/fs.h"

namespace ptpkg {

enum class LockState : std::uint8_t {
  kHeld,
  kUnlocked,  ///< The file is there, but its file system has no locks: who else uses it cannot be known.
  kBusy,      ///< Another handle holds it.
  kGone,      ///< No file has that name, or the one that was locked has lost it meanwhile.
};

struct LockedFile {
  LockState state = LockState::kGone;
  std::unique_ptr<File> file;  ///< Set for kHeld and kUnlocked: the lock ends with it. Else null.
};

/// Opens `path`, takes its lock without waiting, and makes sure that `path` still names what was locked:
/// between the two, whoever held it may have removed it. Never creates. Errors: kIo, kInvalidInput.
Result<LockedFile> TryLockFile(Fs& fs, const AbsPath& path, LockKind kind);

}  // namespace ptpkg
