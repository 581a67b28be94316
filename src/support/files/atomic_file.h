#pragma once
// Writes a file atomically under its final name. Layer: support. Pattern: temp file beside the target, sync,
// rename (leveldb db/filename.cc SetCurrentFile).

#include <memory>

#include "support/files/fs.h"
#include "support/files/scratch.h"

namespace ptpkg {

/// Behaviour of Commit when the target exists.
enum class ExistingFilePolicy : std::uint8_t {
  kReplace,
  kRefuse,  ///< kAlreadyExists, target untouched.
};

/// Renames a file within its file system. Errors: kAlreadyExists (kRefuse only), kIo.
Result<void> RenameAs(Fs& fs, const AbsPath& from, const AbsPath& to, ExistingFilePolicy on_existing);

class AtomicFile {
 public:
  /// Makes a scratch file (scratch.h) beside the target, locked until it has its name or is gone; the
  /// directory must exist.
  static Result<AtomicFile> Create(Fs& fs, const AbsPath& target);

  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  /// Removes the temp file unless committed.
  ~AtomicFile();

  [[nodiscard]] File& file() { return *file_; }
  [[nodiscard]] const AbsPath& temp_path() const { return temp_; }

  /// Syncs, closes, renames to the target, syncs the directory. On error the temp file is removed.
  Result<void> Commit(ExistingFilePolicy on_existing) &&;

 private:
  AtomicFile(Fs& fs, AbsPath target, AbsPath temp, std::unique_ptr<File> file, std::unique_ptr<File> lock);

  Fs* fs_;
  AbsPath target_;
  AbsPath temp_;
  std::unique_ptr<File> file_;
  // A handle of its own: file_ is closed before the rename, because close(2) may report a write error.
  std::unique_ptr<File> lock_;
};

}  // namespace ptpkg
