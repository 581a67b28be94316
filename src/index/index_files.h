#pragma once
// Updates index files only where their content changed. Layer: index.

#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "support/env.h"

namespace ptpkg::index {

/// Held from the listing of the packages below `root` to the last file of the index: of two that index one
/// directory, the later sees what the earlier saw, so that no package is lost. Waits
/// (support/files/lock_file.h).
Result<std::unique_ptr<File>> LockIndex(Env& env, const AbsPath& root);

/// `text` as "<file>.zst" of an index holds it: one frame, at conda-index's level.
Result<std::string> ZstOf(std::string_view text);

/// True if `path` is a file with just `text`. Errors: kIo.
Result<bool> HasText(Fs& fs, const AbsPath& path, std::string_view text);

class IndexFiles {
 public:
  explicit IndexFiles(Env& env) : env_(env) {}

  /// Makes `path` hold `text`, atomically; a file that holds it already is not touched. The directory is made
  /// if missing, and freed of the temporary files of killed runs. Errors: kIo.
  Result<void> Write(const AbsPath& path, std::string_view text);

  /// `path`, and beside it "<path>.zst", the same compressed.
  Result<void> WriteWithZst(const AbsPath& path, std::string_view text);

  /// Also frees the directory of the temporary files of killed runs. Errors: kIo.
  Result<void> RemoveIfThere(const AbsPath& path);

  /// Paths of the written files, in order.
  [[nodiscard]] std::vector<AbsPath> TakeWritten() { return std::move(written_); }

 private:
  Result<void> Prepare(const AbsPath& folder);

  Env& env_;
  std::set<AbsPath> prepared_;
  std::vector<AbsPath> written_;
};

}  // namespace ptpkg::index
