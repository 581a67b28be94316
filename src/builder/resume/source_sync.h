#pragma once
// Synchronises local source directories into the work directory. Layer: builder.
//
// Reads a file only when its size, time, kind or executable bit differs from the record; its digest then
// shows whether it has changed. An edit that keeps size and time (touch -r after it) goes unnoticed.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "source/walk.h"
#include "support/digest/hash.h"
#include "support/env.h"

namespace ptpkg::builder {

/// The copied files, by their path in the copy.
struct SyncRecord {
  struct File {
    FileKind kind = FileKind::kRegular;
    bool executable = false;
    std::uint64_t size_bytes = 0;
    /// mtime of the source. kUnsure: it could have changed again within the same clock tick.
    std::int64_t mtime_ns = 0;
    Sha256 digest = {};  ///< Digest of the bytes; for a symlink, of its target.
  };
  static constexpr std::int64_t kUnsure = -1;

  std::map<RelPath, File> files = {};

  /// Errors: kNotFound, kCorrupt, kIo.
  static Result<SyncRecord> Read(Env& env, const AbsPath& file);
  Result<void> Write(Fs& fs, const AbsPath& file) const;

  /// Marks the content of `path` in the copy as unknown. The next SyncSources copies it from the source
  /// again, or removes it if it is gone there.
  void Distrust(const RelPath& path);
  /// For sources in another directory, where equal times prove nothing: the next SyncSources reads all of
  /// them.
  void RereadAllSources();
};

/// One source directory, and its place in the copy.
struct SyncOrigin {
  AbsPath folder = AbsPath::Literal("/nonexistent");
  std::string below = {};              ///< source.target_directory; "": the copy itself.
  std::vector<RelPath> left_out = {};  ///< Paths in the directory that are not copied.
};

struct SyncRequest {
  std::vector<SyncOrigin> origins = {};
  AbsPath copy = AbsPath::Literal("/nonexistent");         ///< An existing directory.
  AbsPath record_file = AbsPath::Literal("/nonexistent");  ///< Written before and after a change of the copy.
  /// The copy is new. Files keep their times, and an existing file belongs to another source.
  bool first = false;
  bool replaces = false;  ///< With `first`: existing files are inherited, and get replaced.
  /// True if the copy has the file from another source: no origin can bring it too. Can be empty.
  std::function<bool(const RelPath&)> is_taken = {};
  /// Called before the copy gets a new file or loses one; can be empty. An error ends the sync.
  std::function<Result<void>()> before_other_files = {};
};

struct SyncOutcome {
  std::vector<RelPath> copied;   ///< New or changed, sorted.
  std::vector<RelPath> removed;  ///< Gone from the source, sorted.
};

/// Copies files that are new or changed since `record`. Removes files that are gone, and directories that
/// this leaves empty. Copies get the current time, because make and ninja would ignore an older one. Other
/// files of the copy, and files that a build has changed, stay untouched. Updates `record` and its file;
/// after a kill, the next run repairs them. Does not follow symlinks of the copy. Errors:
/// - kNotFound (an origin), kIo, kCancelled
/// - kInvalidInput: as source::CheckEntry; a file that two sources hold
/// - kRefused: a file that changes during the copy; a file whose place the build has given to another kind of
///   entry
Result<SyncOutcome> SyncSources(Env& env, const SyncRequest& request, SyncRecord& record);

/// Distrusts the recorded ones of `files` (below `copy`) that were written at `since_ns` or later and differ
/// from the copied bytes. An interrupted script could have been writing them. Returns their number. Errors:
/// kIo, kCancelled.
Result<std::size_t> DistrustFilesWrittenSince(Env& env, const AbsPath& copy,
                                              const std::vector<source::WalkEntry>& files,
                                              std::int64_t since_ns, SyncRecord& record);

}  // namespace ptpkg::builder
