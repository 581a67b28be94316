#pragma once
// Finds files by how they begin, fast: of the 12,415 files of a torch wheel 17 are ELF files. Layer: support.

#include "support/env.h"

namespace ptpkg {

struct FoundFile {
  RelPath path;
  std::uint64_t size_bytes = 0;
  std::uint32_t mode = 0;  ///< Permission bits, 07777.

  bool operator==(const FoundFile&) const = default;
};

/// The regular files below `root` that begin with `magic`, sorted by path; symlinks are not followed.
/// What vanishes while it is looked at is not there.
/// REQUIRES: `magic` of 1 to 64 bytes. Errors: kInvalidInput if `root` is no folder, kIo, kCancelled.
/// Cost: on the real file system three system calls a file, on env.jobs threads.
Result<std::vector<FoundFile>> FindFilesByMagic(Env& env, const AbsPath& root, std::string_view magic);

/// What an Fs may offer besides, when it can do better than one call of Fs after another.
class MagicFinder {
 public:
  virtual ~MagicFinder() = default;
  /// As FindFilesByMagic; in any order.
  virtual Result<std::vector<FoundFile>> FindByMagic(const AbsPath& root, std::string_view magic, int jobs,
                                                     const CancelToken& cancel) = 0;
};

}  // namespace ptpkg
