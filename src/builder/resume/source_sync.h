#pragma once
// Synchronises local source directories into the work directory. Layer: builder.
//
// A file is read only when its size, time, kind or executable bit is not as recorded; its digest then says
// whether it has changed. An edit that keeps size and time (touch -r after it) is not seen.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "source/walk.h"
#include "support/digest/hash.h"
#include "support/env.h"

namespace ptpkg::builder {

/// The files as they were taken, by their path in the copy.
struct SyncRecord {
  struct File {
    FileKind kind = FileKind::kRegular;
    bool executable = false;
    std::uint64_t size_bytes = 0;
    /// mtime of the source. kUnsure: it may have been written again within the same tick of the clock.
    std::int64_t mtime_ns = 0;
    Sha256 digest = {};  ///< Digest of the bytes; for a symlink, of its target.
  };
  static constexpr std::int64_t kUnsure = -1;

  std::map<RelPath, File> files = {};

  /// Errors: kNotFound, kCorrupt, kIo.
  static Result<SyncRecord> Read(Env& env, const AbsPath& file);
  Result<void> Write(Fs& fs, const AbsPath& file) const;

  /// Nobody knows what the copy of `path` holds: the next SyncSources takes it from the source again, or
  /// removes it when it is gone there.
  void Distrust(const RelPath& path);
  /// The sources lie elsewhere now, where equal times say nothing: the next SyncSources reads all of them.
  void RereadAllSources();
};

/// One source directory, and where it lies in the copy.
struct SyncOrigin {
  AbsPath folder = AbsPath::Literal("/nonexistent");
  std::string below = {};              ///< source.target_directory; "": the copy itself.
  std::vector<RelPath> left_out = {};  ///< Paths in the directory that are not copied.
};

struct SyncRequest {
  std::vector<SyncOrigin> origins = {};
  AbsPath copy = AbsPath::Literal("/nonexistent");         ///< An existing directory.
  AbsPath record_file = AbsPath::Literal("/nonexistent");  ///< Written before and after a change of the copy.
  /// The copy is being made: files keep their times, and one that is there already is another source's.
  bool first = false;
  bool replaces = false;  ///< With `first`: what is there already was inherited, and gives way.
  /// True if the copy has the file from another source: no origin may bring it too. May be empty.
  std::function<bool(const RelPath&)> is_taken = {};
  /// Called before the copy gets a file that it did not have, or loses one; may be empty. An error ends it.
  std::function<Result<void>()> before_other_files = {};
};

struct SyncOutcome {
  std::vector<RelPath> copied;   ///< New or changed, sorted.
  std::vector<RelPath> removed;  ///< Gone from the source, sorted.
};

/// Copies what is new or has changed since `record`, and removes what is gone, with directories that are
/// empty then. Copies get the time of now, because make and ninja would not see an older one. Other files of
/// the copy, and those that a build has changed, stay as they are. `record` and its file then say what the
/// copy holds; a run that is killed here is made good by the next. No symlink of the copy is followed.
/// Errors: kNotFound (an origin), kIo, kCancelled; kInvalidInput: source::CheckEntry's, and a file that two
/// sources hold; kRefused for a file that changes while it is copied, and for one whose place the build has
/// taken by something of another kind.
Result<SyncOutcome> SyncSources(Env& env, const SyncRequest& request, SyncRecord& record);

/// Distrusts the recorded ones of `files`, which lie below `copy`, that were written at `since_ns` or later
/// and do not hold what was copied: a script that was cut off may have been writing them. Returns how many.
/// Errors: kIo, kCancelled.
Result<std::size_t> DistrustFilesWrittenSince(Env& env, const AbsPath& copy,
                                              const std::vector<source::WalkEntry>& files,
                                              std::int64_t since_ns, SyncRecord& record);

}  // namespace ptpkg::builder
