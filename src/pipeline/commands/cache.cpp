// The cache is a directory that other processes read and write meanwhile, so every step here has to expect
// changes. A file that disappears is skipped. The state of an item comes from trying its lock, without
// creating the lock's file. Removal takes the exclusive lease first, and a held item is reported, never
// waited for (docs/decisions/0009-leases.md).
//
// Age is the time of the last use: of the lease file for results and sources, of state.json for work
// directories, and of the directory itself for the rest. With --max-size the oldest items go first, until the
// rest fits. Held items count as present, so others go in their place.
//
// Invariant: only known kinds are removed. Any other file in the cache directory is listed as "other" and
// stays.

#include "pipeline/commands/cache.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>

#include "builder/resume/work_state.h"
#include "source/partial_file.h"
#include "support/files/lease.h"
#include "support/files/locked_file.h"
#include "support/files/scratch.h"
#include "support/text/json.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

bool IsGone(const Error& error) { return error.code() == ErrorCode::kNotFound; }

/// Names in `folder`; none if it is missing or no directory.
Result<std::vector<std::string>> NamesIn(Fs& fs, const AbsPath& folder) {
  auto names = fs.ListDir(folder);
  if (names || (!IsGone(names.error()) && names.error().code() != ErrorCode::kInvalidInput)) return names;
  return std::vector<std::string>();
}

/// The state of a directory with a lease, without disturbing those who take leases: they try again
/// (LeaseShared), and a missing lease file is not made.
Result<CacheState> StateOf(Fs& fs, const AbsPath& folder) {
  PTPKG_TRY(const LockedFile held, TryLockFile(fs, folder / kLeaseName, LockKind::kExclusive));
  if (held.state == LockState::kBusy) return CacheState::kInUse;
  return held.state == LockState::kUnlocked ? CacheState::kUnknown : CacheState::kFree;
}

CacheState StateOf(ScratchState state) {
  if (state == ScratchState::kInUse) return CacheState::kInUse;
  return state == ScratchState::kUnknown ? CacheState::kUnknown : CacheState::kFree;
}

bool IsSource(CacheKind kind) {
  return kind == CacheKind::kDownload || kind == CacheKind::kPartial || kind == CacheKind::kGit;
}

class CacheLister {
 public:
  explicit CacheLister(Env& env) : env_(env), root_(env.cache_dir) {}

  Result<std::vector<CacheItem>> Run() {
    Task task(env_.reporter, TaskInfo{.stage = "cache", .subject = root_.str()});
    PTPKG_CHECK(ReadSubjects());
    PTPKG_CHECK(AddResults(root_ / "stages/results"));
    PTPKG_TRY(const std::vector<std::string> outputs, NamesIn(env_.fs, root_ / "waiting"));
    for (const std::string& output : outputs) PTPKG_CHECK(AddResults(root_ / "waiting" / output / "results"));
    PTPKG_CHECK(AddDownloads());
    PTPKG_CHECK(AddAnswers());
    PTPKG_CHECK(AddMirrors());
    PTPKG_TRY(const bool objects, Exists(env_.fs, root_ / "ccache"));
    if (objects) PTPKG_CHECK(AddFolder(CacheItem{.kind = CacheKind::kCcache, .path = root_ / "ccache"}));
    for (const char* name : {"kept", "work", "dev"}) PTPKG_CHECK(AddKept(root_ / name));
    for (const AbsPath& parent : scratch_parents_) PTPKG_CHECK(AddScratch(parent));
    PTPKG_CHECK(AddOthers());
    std::sort(items_.begin(), items_.end(), [](const CacheItem& left, const CacheItem& right) {
      return std::tie(left.kind, left.path) < std::tie(right.kind, right.path);
    });
    task.Done(Plural(items_.size(), "entry"));
    return std::move(items_);
  }

 private:
  Result<void> ReadSubjects() {
    const AbsPath records = root_ / "stages/records";
    PTPKG_TRY(const std::vector<std::string> subjects, NamesIn(env_.fs, records));
    for (const std::string& subject : subjects) {
      scratch_parents_.insert(records / subject);
      PTPKG_TRY(const std::vector<std::string> names, NamesIn(env_.fs, records / subject));
      for (const std::string& name : names) ReadSubject(records / subject / name, subject);
    }
    return Ok();
  }

  /// A record that cannot be read costs a name in a list.
  void ReadSubject(const AbsPath& path, const std::string& subject) {
    constexpr std::uint64_t kMaxRecordBytes = 16U << 20U;
    const auto text = ReadFile(env_.fs, path, kMaxRecordBytes);
    if (!text) return;
    const auto record = ParseJson(*text, path.str());
    if (!record || !record->is_object()) return;
    const auto key = JsonStringOr(*record, "key", "", path.str());
    if (key && !key->empty()) subjects_.emplace(*key, subject);
  }

  Result<void> AddResults(const AbsPath& results) {
    PTPKG_TRY(const std::vector<std::string> stages, NamesIn(env_.fs, results));
    for (const std::string& stage : stages) {
      scratch_parents_.insert(results / stage);
      PTPKG_TRY(const std::vector<std::string> keys, NamesIn(env_.fs, results / stage));
      for (const std::string& key : keys) {
        CacheItem item{.kind = CacheKind::kResult, .path = results / stage / key, .stage = stage, .key = key};
        if (const auto found = subjects_.find(key); found != subjects_.end()) item.subject = found->second;
        PTPKG_CHECK(AddFolder(std::move(item)));
      }
    }
    return Ok();
  }

  Result<void> AddDownloads() {
    const AbsPath downloads = root_ / "downloads";
    scratch_parents_.insert(downloads);
    PTPKG_TRY(const std::vector<std::string> digests, NamesIn(env_.fs, downloads));
    for (const std::string& digest : digests) {
      scratch_parents_.insert(downloads / digest);
      CacheItem item{.kind = CacheKind::kDownload, .path = downloads / digest, .key = digest};
      PTPKG_TRY(const std::vector<std::string> names, NamesIn(env_.fs, item.path));
      for (const std::string& name : names) {
        if (!name.starts_with('.')) item.subject = name;
        if (source::IsPartialFileName(name) && item.subject.empty()) item.kind = CacheKind::kPartial;
      }
      if (!item.subject.empty()) item.kind = CacheKind::kDownload;
      PTPKG_CHECK(AddFolder(std::move(item)));
    }
    return Ok();
  }

  Result<void> AddMirrors() {
    const AbsPath mirrors = root_ / "git";
    scratch_parents_.insert(mirrors);
    PTPKG_TRY(const std::vector<std::string> names, NamesIn(env_.fs, mirrors));
    for (const std::string& name : names) {
      scratch_parents_.insert(mirrors / name);
      CacheItem item{.kind = CacheKind::kGit, .path = mirrors / name};
      constexpr std::uint64_t kLongestUrl = 64U << 10U;
      const auto url = ReadFile(env_.fs, mirrors / name / "url", kLongestUrl);
      if (url) item.subject = Trim(*url);
      PTPKG_CHECK(AddFolder(std::move(item)));
    }
    return Ok();
  }

  Result<void> AddAnswers() {
    const AbsPath answers = root_ / "wheels";
    scratch_parents_.insert(answers);
    PTPKG_TRY(const std::vector<std::string> keys, NamesIn(env_.fs, answers));
    for (const std::string& key : keys) {
      PTPKG_CHECK(AddFolder(CacheItem{.kind = CacheKind::kAnswer, .path = answers / key, .key = key}));
    }
    return Ok();
  }

  Result<void> AddKept(const AbsPath& parent) {
    scratch_parents_.insert(parent);
    PTPKG_TRY(const std::vector<std::string> names, NamesIn(env_.fs, parent));
    for (const std::string& name : names) {
      CacheItem item{.kind = CacheKind::kKept, .path = parent / name};
      if (const auto state = builder::ReadWorkState(env_.fs, item.path)) {
        item.kind = parent.Name() == "dev" ? CacheKind::kDev : CacheKind::kWork;
        item.subject = state->subject;
      }
      PTPKG_CHECK(AddFolder(std::move(item)));
    }
    return Ok();
  }

  /// A directory with a lease. AddScratch lists scratch.
  Result<void> AddFolder(CacheItem item) {
    if (IsScratchFolderName(item.path.Name()) || IsScratchFileName(item.path.Name())) return Ok();
    PTPKG_TRY(item.state, StateOf(env_.fs, item.path));
    return Measure(std::move(item));
  }

  Result<void> AddScratch(const AbsPath& parent) {
    PTPKG_TRY(const std::vector<Scratch> found, ListScratch(env_.fs, parent));
    for (const Scratch& scratch : found) {
      PTPKG_CHECK(Measure(
          CacheItem{.kind = CacheKind::kScratch, .state = StateOf(scratch.state), .path = scratch.path}));
    }
    return Ok();
  }

  Result<void> AddOthers() {
    static const std::set<std::string> kOurs = {"ccache", "dev",     "downloads", "git", "kept",
                                                "stages", "waiting", "wheels",    "work"};
    PTPKG_TRY(const std::vector<std::string> names, NamesIn(env_.fs, root_));
    for (const std::string& name : names) {
      const bool known = kOurs.contains(name) || IsScratchFolderName(name) || IsScratchFileName(name);
      if (!known) PTPKG_CHECK(Measure(CacheItem{.path = root_ / name}));
    }
    const AbsPath records = root_ / "stages/records";
    PTPKG_TRY(const bool remembers, Exists(env_.fs, records));
    return remembers ? Measure(CacheItem{.path = records}) : Ok();
  }

  /// Adds `item` with its size and time, unless it is gone.
  Result<void> Measure(CacheItem item) {
    PTPKG_CHECK(env_.cancel.Check());
    const bool leased =
        item.kind == CacheKind::kResult || item.kind == CacheKind::kCcache || IsSource(item.kind);
    const bool work = item.kind == CacheKind::kWork || item.kind == CacheKind::kDev;
    auto stat = leased ? env_.fs.Lstat(item.path / kLeaseName)
                : work ? env_.fs.Lstat(item.path / "state.json")
                       : env_.fs.Lstat(item.path);
    // Without a lease or state file, the directory's own time has to do.
    if (!stat && (leased || work) && IsGone(stat.error())) stat = env_.fs.Lstat(item.path);
    if (!stat) return IsGone(stat.error()) ? Ok() : Result<void>(stat.error());
    item.last_use_ns = stat->mtime_ns;
    PTPKG_TRY(item.size_bytes, SizeOf(item));
    items_.push_back(std::move(item));
    return Ok();
  }

  Result<std::uint64_t> SizeOf(const CacheItem& item) {
    std::uint64_t size = 0;
    std::vector<AbsPath> todo = {item.path};
    while (!todo.empty()) {
      const AbsPath path = std::move(todo.back());
      todo.pop_back();
      const auto stat = env_.fs.Lstat(path);
      if (!stat && !IsGone(stat.error())) return stat.error();
      if (!stat) continue;
      if (stat->kind != FileKind::kDirectory) {
        // Files that are being written among the records are listed separately.
        const bool by_itself = item.kind == CacheKind::kOther && IsScratchFileName(path.Name());
        if (!by_itself) size += stat->size_bytes;
        continue;
      }
      PTPKG_TRY(const std::vector<std::string> names, NamesIn(env_.fs, path));
      for (const std::string& name : names) todo.push_back(path / name);
    }
    return size;
  }

  Env& env_;
  AbsPath root_;
  std::map<std::string, std::string> subjects_;  // key → subject
  std::set<AbsPath> scratch_parents_ = {root_};
  std::vector<CacheItem> items_;
};

bool IsRemovable(CacheKind kind) { return kind != CacheKind::kScratch && kind != CacheKind::kOther; }

/// The items of `all` that `request` wants removed, in the order of removal.
std::vector<CacheItem> Chosen(Env& env, const std::vector<CacheItem>& all, const CacheCleanRequest& request) {
  std::vector<CacheItem> chosen;
  std::vector<CacheItem> candidates;
  std::uint64_t size = 0;
  for (const CacheItem& item : all) {
    // Scratch of killed runs goes whatever the limits are: it serves nobody.
    if (item.kind == CacheKind::kScratch && item.state == CacheState::kFree) chosen.push_back(item);
    if (!IsRemovable(item.kind)) continue;
    candidates.push_back(item);
    size += item.size_bytes;
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const CacheItem& left, const CacheItem& right) {
    return left.last_use_ns < right.last_use_ns;
  });
  const auto now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(env.clock.WallNow().time_since_epoch());
  const bool everything = !request.older_than && !request.max_size_bytes;
  for (const CacheItem& item : candidates) {
    const bool old =
        request.older_than && std::chrono::nanoseconds(item.last_use_ns) < now - *request.older_than;
    const bool too_much = request.max_size_bytes && size > *request.max_size_bytes;
    if (!everything && !old && !too_much) continue;
    // A held item counts as present: others are removed in its place.
    if (item.state == CacheState::kFree) size -= item.size_bytes;
    chosen.push_back(item);
  }
  return chosen;
}

/// False: somebody holds it.
Result<bool> Remove(Env& env, const CacheItem& item) {
  if (item.kind == CacheKind::kScratch) {
    PTPKG_CHECK(RemoveAbandoned(env, item.path.Parent()));
    PTPKG_TRY(const bool there, Exists(env.fs, item.path));
    return !there;
  }
  PTPKG_TRY(std::optional<Lease> lease, Lease::Try(env.fs, item.path, LockKind::kExclusive));
  if (!lease || !lease->is_locked()) {
    PTPKG_TRY(const bool there, Exists(env.fs, item.path));
    return !there;
  }
  PTPKG_CHECK(std::move(*lease).Remove());
  return true;
}

}  // namespace

std::string_view CacheKindName(CacheKind kind) {
  switch (kind) {
    case CacheKind::kResult:
      return "result";
    case CacheKind::kDownload:
      return "download";
    case CacheKind::kAnswer:
      return "answer";
    case CacheKind::kWork:
      return "work";
    case CacheKind::kDev:
      return "dev";
    case CacheKind::kPartial:
      return "partial";
    case CacheKind::kGit:
      return "git";
    case CacheKind::kKept:
      return "kept";
    case CacheKind::kCcache:
      return "ccache";
    case CacheKind::kScratch:
      return "scratch";
    case CacheKind::kOther:
      return "other";
  }
  return "other";
}

std::string_view CacheStateName(CacheState state) {
  switch (state) {
    case CacheState::kFree:
      return "free";
    case CacheState::kInUse:
      return "in_use";
    case CacheState::kUnknown:
      return "unknown";
    case CacheState::kForeign:
      return "foreign";
  }
  return "foreign";
}

Result<std::vector<CacheItem>> ListCache(Env& env) { return CacheLister(env).Run(); }

Result<CacheCleanOutcome> CleanCache(Env& env, const CacheCleanRequest& request) {
  PTPKG_TRY(const std::vector<CacheItem> all, ListCache(env));
  CacheCleanOutcome outcome;
  for (const CacheItem& item : all) outcome.left_bytes += item.size_bytes;
  for (const CacheItem& item : Chosen(env, all, request)) {
    PTPKG_CHECK(env.cancel.Check());
    const bool try_it = item.state == CacheState::kFree && !request.dry_run;
    const Result<bool> removed = try_it ? Remove(env, item) : Result<bool>(item.state == CacheState::kFree);
    if (!removed) {
      outcome.failures.push_back(removed.error().message());
    } else if (*removed) {
      outcome.removed.push_back(item);
      outcome.freed_bytes += item.size_bytes;
    } else {
      outcome.in_use.push_back(item);
    }
  }
  outcome.left_bytes -= outcome.freed_bytes;
  return outcome;
}

}  // namespace ptpkg::pipeline
