#pragma once
// Finds files by their magic bytes. Layer: support.

#include <span>

#include "support/env.h"

namespace ptpkg {

struct FoundFile {
  RelPath path;
  std::uint64_t size_bytes = 0;
  std::uint32_t mode = 0;  ///< Permission bits, 07777.

  bool operator==(const FoundFile&) const = default;
};

struct FileFilter {
  std::string_view magic;  ///< Their first bytes, 1 to 64 of them.
  /// Files with these extensions (".h") are not opened.
  std::span<const std::string_view> skipped_extensions = {};

  /// True if a file called `name` has to be opened.
  [[nodiscard]] bool IsCandidate(std::string_view name) const;
};

/// The regular files below `root` that begin with wanted.magic, sorted by path; symlinks are not followed.
/// Files that vanish during the search are left out. Errors: kInvalidInput if `root` is not a directory, kIo,
/// kCancelled. Cost: on the real file system three system calls per file, on env.jobs threads.
Result<std::vector<FoundFile>> FindFilesByMagic(Env& env, const AbsPath& root, const FileFilter& wanted);

/// Optional interface of an Fs that can search faster than by one call of Fs after another.
class MagicFinder {
 public:
  virtual ~MagicFinder() = default;
  /// Like FindFilesByMagic; in any order.
  virtual Result<std::vector<FoundFile>> FindByMagic(const AbsPath& root, const FileFilter& wanted, int jobs,
                                                     const CancelToken& cancel) = 0;
};

}  // namespace ptpkg
