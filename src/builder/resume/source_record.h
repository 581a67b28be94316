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
  /// True if `now` differs from the record in kind, executable bit, size or time. REQUIRES: Holds(its path).
  [[nodiscard]] bool IsChanged(const source::WalkEntry& now) const;

  /// Compares files by kind, executable bit, size and time.
  bool operator==(const SourceRecord&) const = default;

  /// State that Changes returns for a file with these bytes.
  static std::string StateOf(const Sha256& digest, bool executable);

  /// Every recorded file that has changed, with its present state: StateOf for a file, the target for a link,
  /// "" for a missing one. `now`: all files below `root`.
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
