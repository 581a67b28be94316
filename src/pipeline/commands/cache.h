#pragma once
// Lists and prunes the cache: `ptpkg cache`. Layer: pipeline.
//
// - stages/results/<stage>/<key>/: results, each leased by its readers (support/files/lease.h)
// - waiting/<16 hex digits>/: results of artifacts that wait for their publication (pack_result.h)
// - stages/records/<subject>/…: memory of past runs, a few hundred bytes each, never removed
// - downloads/<sha256>/<name>: sources, and wheels of the Python index (.partial-…: interrupted downloads)
// - git/<sha256 of the URL>/: mirrors of git repositories
// - wheels/<key>/pins.json: answers of the Python index (builder/pip/python_index.h), a few kB each
// - work/<16 hex digits>/: builds, running or interrupted and resumable (build_folder.h)
// - dev/<16 hex digits>/: directories of `ptpkg dev` (dev_folder.h)
// - kept/<subject>-<first 12 digits of the key>/: work directories that --keep-work left; a directory in
//   work/ with another name counts as kept too
// - ccache/: objects that --ccache keeps (builder/tools/compiler_cache.h), listed as one item
// - scratch, anywhere: directories and files of running and of killed runs (support/files/scratch.h)

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::pipeline {

enum class CacheKind : std::uint8_t {
  kResult,
  kDownload,
  kAnswer,
  kWork,
  kDev,
  kPartial,  ///< An incomplete download: the next run resumes it.
  kGit,
  kKept,
  kCcache,
  kScratch,
  kOther,  ///< Not ptpkg's, or records: listed, and never removed.
};

enum class CacheState : std::uint8_t {
  kFree,
  kInUse,    ///< A process of this or another host, or container, holds it.
  kUnknown,  ///< The file system has no locks, so nobody can tell.
  kForeign,  ///< Only for kOther.
};

struct CacheItem {
  CacheKind kind = CacheKind::kOther;
  CacheState state = CacheState::kForeign;
  AbsPath path = AbsPath::Literal("/nonexistent");
  std::string stage = {};  ///< For results: the stage that made it.
  /// Results and answers: 64 hex digits. Downloads, complete or not: the sha256.
  std::string key = {};
  /// Results: the subject of the last run that made it, "" if no record has it. Work and dev: the build.
  /// Downloads: the file. Mirrors: the URL.
  std::string subject = {};
  std::uint64_t size_bytes = 0;  ///< Sum of the files' sizes.
  /// Unix time. A result or a source: when a run last took it. Work and dev: when it was last resumed.
  /// Else the last change.
  std::int64_t last_use_ns = 0;
};

/// Everything below env.cache_dir, in the order of the kinds, then by path; a missing cache is empty. Files
/// that vanish meanwhile add nothing to the size. Takes locks for moments, but changes nothing. Errors: kIo.
Result<std::vector<CacheItem>> ListCache(Env& env);

struct CacheCleanRequest {
  std::optional<std::chrono::seconds> older_than = {};  ///< Only items last used longer ago.
  /// Removes the least recently used until results, sources, answers, work, dev and kept directories and the
  /// compiler cache together fit this size.
  std::optional<std::uint64_t> max_size_bytes = {};
  bool dry_run = false;  ///< Only report the items to remove.
};

struct CacheCleanOutcome {
  std::vector<CacheItem> removed;     ///< In the order of removal.
  std::vector<CacheItem> in_use;      ///< Would have been removed, but somebody holds it, or nobody can tell.
  std::vector<std::string> failures;  ///< One message for each that could not be removed.
  std::uint64_t freed_bytes = 0;
  std::uint64_t left_bytes = 0;  ///< Size of everything that remains, kOther included.
};

/// Removes results, sources, answers, work, dev and kept directories that nobody holds: all of them, or only
/// those within the limits of the request. Always removes scratch of killed runs. A run that needs a result
/// at that time either has it already, or finds it gone and makes it again. Errors: kIo (the cache cannot be
/// read), kCancelled.
Result<CacheCleanOutcome> CleanCache(Env& env, const CacheCleanRequest& request);

/// "result", "download", "partial", "git", "answer", "work", "dev", "kept", "ccache", "scratch",
/// "other".
std::string_view CacheKindName(CacheKind kind);
/// "free", "in_use", "unknown", "foreign".
std::string_view CacheStateName(CacheState state);

}  // namespace ptpkg::pipeline
