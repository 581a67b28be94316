#pragma once
// Records prepared sources and detects later changes. Layer: builder.

#include <map>
#include <string>

#include "source/walk.h"
#include "support/digest/hash.h"
#include "support/env.h"

namespace ptpkg::builder {

class SourceRecord {
 public:
  /// Records the files that are below `root` now.
  static Result<SourceRecord> Take(Env& env, const AbsPath& root);
  /// Errors: kNotFound, kCorrupt, kIo.
  static Result<SourceRecord> Read(Env& env, const AbsPath& file);
  Result<void> Write(Fs& fs, const AbsPath& file) const;

  [[nodiscard]] bool Holds(const RelPath& path) const { return files_.contains(path); }
  /// True if `now` is not as it was when it was recorded, by kind, executable bit, size and time. REQUIRES:
  /// Holds(its path).
  [[nodiscard]] bool IsChanged(const source::WalkEntry& now) const;

  /// The same files, by kind, executable bit, size and time.
  bool operator==(const SourceRecord&) const = default;

  /// State that Changes gives for a file with these bytes.
  static std::string StateOf(const Sha256& digest, bool executable);

  /// Every recorded file that is not as it was, with what tells its present state from others: of a file
  /// StateOf, of a link its target; "" of one that is missing. `now`: what lies below `root`.
  Result<std::map<RelPath, std::string>> Changes(Env& env, const AbsPath& root,
                                                 const std::vector<source::WalkEntry>& now) const;

 private:
  struct File {
    FileKind kind = FileKind::kRegular;
    bool executable = false;
    std::uint64_t size_bytes = 0;
    std::int64_t mtime_ns = 0;

    bool operator==(const File&) const = default;
  };

  std::map<RelPath, File> files_;
};

}  // namespace ptpkg::builder
