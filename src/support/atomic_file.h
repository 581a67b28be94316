#pragma once
// A file that appears under its name whole or not at all. Layer: support.
// Pattern: temp file beside the target, sync, rename (leveldb db/filename.cc SetCurrentFile).

#include <memory>

#include "support/fs.h"

namespace ptpkg {

/// What Commit does when the target exists.
enum class OnExisting : std::uint8_t {
  kReplace,
  kRefuse,  ///< kAlreadyExists, target untouched.
};

class AtomicFile {
 public:
  /// Makes "<folder>/.<name>.<pid>-<n>.ptpkg-tmp"; the folder must exist.
  static Result<AtomicFile> Create(Fs& fs, AbsPath target);

  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  /// Removes the temp file unless committed.
  ~AtomicFile();

  [[nodiscard]] File& file() { return *file_; }
  [[nodiscard]] const AbsPath& temp_path() const { return temp_; }

  /// Syncs, closes, renames to the target, syncs the folder. On error the temp file is removed.
  Result<void> Commit(OnExisting on_existing) &&;

 private:
  AtomicFile(Fs& fs, AbsPath target, AbsPath temp, std::unique_ptr<File> file);

  Fs* fs_;
  AbsPath target_;
  AbsPath temp_;
  std::unique_ptr<File> file_;
};

/// Removes temp files of AtomicFile directly in `folder` whose process no longer lives: what a
/// killed run left behind. Missing folder is no error.
Result<void> RemoveStaleTemps(Fs& fs, const AbsPath& folder);

/// A scratch folder "<parent>/<prefix>-<pid>-<n>", removed with its content on destruction unless
/// released.
class TempDir {
 public:
  static Result<TempDir> Create(Fs& fs, const AbsPath& parent, std::string_view prefix);

  TempDir(TempDir&&) noexcept;
  TempDir& operator=(TempDir&&) = delete;
  ~TempDir();

  [[nodiscard]] const AbsPath& path() const { return path_; }
  /// Keeps the folder; the caller owns it from here (usually to rename it to its final name).
  AbsPath Release() &&;

 private:
  TempDir(Fs& fs, AbsPath path) : fs_(&fs), path_(std::move(path)) {}
  Fs* fs_;  // null once released or moved from
  AbsPath path_;
};

/// Removes folders of TempDir with this `prefix` in `parent` whose process no longer lives.
Result<void> RemoveStaleTempDirs(Fs& fs, const AbsPath& parent, std::string_view prefix);

}  // namespace ptpkg
