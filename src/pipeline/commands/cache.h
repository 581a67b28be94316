#pragma once
// Lists and prunes the cache: `ptpkg cache`. Layer: pipeline.
//
//   stages/results/<stage>/<key>/   results, each leased by its readers (support/files/lease.h)
//   waiting/<16 hex digits>/        the same, of artifacts that wait for their publication (pack_result.h)
//   stages/records/<subject>/…      memory of past runs: a few hundred bytes each, never removed
//   downloads/<sha256>/<name>       sources, and wheels of the Python index; .partial-…: what a cut download
//                                   brought
//   git/<sha256 of the URL>/        mirrors of git repositories
//   wheels/<key>/pins.json          answers of the Python index (builder/pip/python_index.h): a few kB each
//   work/<16 hex digits>/           builds: running, or interrupted and resumable (build_folder.h)
//   dev/<16 hex digits>/            directories of `ptpkg dev` (dev_folder.h)
//   kept/<subject>-<first 12 digits of the key>/   work directories that --keep-work left; so counts what
//   lies in
//                                   work/ under another name
//   ccache/                         objects that --ccache keeps (builder/tools/compiler_cache.h), one entry
//   anywhere: scratch               directories and files of running and of killed runs
//   (support/files/scratch.h)

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

/// Everything below env.cache_dir, in the order of the kinds, then by path; a missing cache is empty. What
/// vanishes meanwhile counts nothing. Takes locks for moments, but changes nothing. Errors: kIo.
Result<std::vector<CacheItem>> ListCache(Env& env);

struct CacheCleanRequest {
  std::optional<std::chrono::seconds> older_than = {};  ///< Only what was last used longer ago.
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

/// Removes results, sources, answers, work, dev and kept directories that nobody holds: all of them, or those
/// that the request limits it to; and scratch of killed runs in any case. A run that needs a result at that
/// time either has it before, or finds it gone and makes it again. Errors: kIo (the cache cannot be read),
/// kCancelled.
Result<CacheCleanOutcome> CleanCache(Env& env, const CacheCleanRequest& request);

/// "result", "download", "partial", "git", "answer", "work", "dev", "kept", "ccache", "scratch",
/// "other".
std::string_view CacheKindName(CacheKind kind);
/// "free", "in_use", "unknown", "foreign".
std::string_view CacheStateName(CacheState state);

}  // namespace ptpkg::pipeline
