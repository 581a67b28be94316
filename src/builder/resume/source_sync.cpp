#include "builder/resume/source_sync.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "builder/resume/checksummed_file.h"
#include "builder/resume/work_state.h"
#include "source/local_tree.h"
#include "support/process/parallel.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

// "<kind> <size> <mtime> <32 bytes of digest><path>", a NUL
// after each; kinds: f, x (executable), l. In hexadecimal the digests of 15,807 files would take 50 ms to
// write.
constexpr std::string_view kSyncHead = "ptpkg synchronised 2 ";
// File systems tell times by ticks of up to 2 s (FAT); what is younger may be written again with the same
// time.
constexpr std::int64_t kTickNs = 2'000'000'000;
constexpr int kAttempts = 3;

/// Takes the text up to the next blank from `row`.
std::string_view NextWord(std::string_view& row) {
  const std::size_t end = std::min(row.find(' '), row.size());
  const std::string_view word = row.substr(0, end);
  row.remove_prefix(std::min(end + 1, row.size()));
  return word;
}

/// Takes a row from `rest`.
Result<std::pair<RelPath, SyncRecord::File>> TakeSyncRow(std::string_view& rest, const AbsPath& file) {
  SyncRecord::File one;
  const std::string_view kind = NextWord(rest);
  one.kind = kind == "l" ? FileKind::kSymlink : FileKind::kRegular;
  one.executable = kind == "x";
  const bool numbers = ReadNumber(NextWord(rest), one.size_bytes) && ReadNumber(NextWord(rest), one.mtime_ns);
  const std::size_t digest = one.digest.bytes.size();
  const std::size_t end = rest.find('\0', std::min(digest, rest.size()));
  if (!numbers || end == std::string_view::npos) return DamagedFile(file);
  std::copy_n(rest.begin(), digest, one.digest.bytes.begin());
  auto path = RelPath::Parse(rest.substr(digest, end - digest));
  if (!path) return DamagedFile(file);
  rest.remove_prefix(end + 1);
  return std::pair(*std::move(path), one);
}

}  // namespace

Result<SyncRecord> SyncRecord::Read(Env& env, const AbsPath& file) {
  PTPKG_TRY(const std::string text, ReadSealedFile(env.fs, file, kSyncHead));
  std::string_view rest = text;
  SyncRecord record;
  while (!rest.empty()) {
    PTPKG_TRY(auto row, TakeSyncRow(rest, file));
    record.files.insert(record.files.end(), std::move(row));
  }
  return record;
}

Result<void> SyncRecord::Write(Fs& fs, const AbsPath& file) const {
  std::string text;
  for (const auto& [path, one] : files) {
    const char kind = one.kind == FileKind::kSymlink ? 'l' : one.executable ? 'x' : 'f';
    text += fmt::format("{} {} {} ", kind, one.size_bytes, one.mtime_ns);
    text.append(one.digest.bytes.begin(), one.digest.bytes.end());
    text += path.str();
    text += '\0';
  }
  return WriteSealedFile(fs, file, kSyncHead, text);
}

void SyncRecord::Distrust(const RelPath& path) {
  File& one = files[path];
  one.mtime_ns = kUnsure;
  one.digest = {};  // of no bytes
}

void SyncRecord::RereadAllSources() {
  for (auto& [path, one] : files) one.mtime_ns = kUnsure;
}

namespace {

/// A file of an origin.
struct Found {
  RelPath path;  ///< In the copy.
  AbsPath from;
  FileStat stat;
  std::string link_target;
};

bool SameStat(const FileStat& a, const FileStat& b) {
  return a.kind == b.kind && a.size_bytes == b.size_bytes && a.mtime_ns == b.mtime_ns && a.mode == b.mode;
}

class Syncer {
 public:
  Syncer(Env& env, const SyncRequest& request, SyncRecord& record)
      : env_(env), request_(request), record_(record), started_ns_(NowNs(env)) {}

  Result<SyncOutcome> Run() {
    PTPKG_CHECK(List());
    PTPKG_TRY(const std::vector<Found*> changed, FindChanged());
    SyncOutcome outcome;
    outcome.removed = Gone();
    bool added = false;
    for (const Found* one : changed) {
      if (record_.files.contains(one->path)) continue;
      if (request_.is_taken && request_.is_taken(one->path)) return HardLinkedSourceError(one->path);
      added = true;
    }
    const bool others = added || !outcome.removed.empty();
    if (others && request_.before_other_files) PTPKG_CHECK(request_.before_other_files());
    // From here on until the end the copy is neither: a run that is killed has to be made good. A new file
    // is recorded before it is there, because its source may be gone when the next run looks.
    for (const Found* one : changed) record_.Distrust(one->path);
    if (!request_.first && !(changed.empty() && outcome.removed.empty())) PTPKG_CHECK(WriteRecord());
    for (const RelPath& path : outcome.removed) PTPKG_CHECK(RemoveOne(path));
    for (const RelPath& path : outcome.removed) record_.files.erase(path);
    for (const Found* one : changed) PTPKG_CHECK(MakePlace(*one));
    PTPKG_CHECK(CopyAll(changed));
    PTPKG_CHECK(MakeEmptyFolders());
    if (touched_ || request_.first || !(changed.empty() && outcome.removed.empty()))
      PTPKG_CHECK(WriteRecord());
    for (const Found* one : changed) outcome.copied.push_back(one->path);
    return outcome;
  }

 private:
  Result<void> WriteRecord() { return record_.Write(env_.fs, request_.record_file); }

  /// Everything of the origins, by its place in the copy.
  Result<void> List() {
    for (const SyncOrigin& origin : request_.origins) {
      PTPKG_TRY(std::vector<source::WalkEntry> entries, source::Walk(env_, origin.folder,
                                                                     {.sources_only = true,
                                                                      .no_run_files = true,
                                                                      .empty_folders = true,
                                                                      .left_out = origin.left_out}));
      for (source::WalkEntry& entry : entries) {
        RelPath path = entry.path;
        if (!origin.below.empty()) {
          PTPKG_TRY(path, RelPath::Parse(origin.below + "/" + path.str()));
        }
        if (entry.stat.kind == FileKind::kDirectory) {
          empty_folders_.push_back(std::move(path));
          continue;
        }
        Found one{.path = std::move(path),
                  .from = origin.folder / entry.path,
                  .stat = entry.stat,
                  .link_target = {}};
        if (entry.stat.kind != FileKind::kRegular) {
          PTPKG_TRY(const TreeEntry checked, source::CheckEntry(env_, origin.folder, std::move(entry)));
          one.link_target = checked.link_target;
        }
        found_.push_back(std::move(one));
      }
    }
    // Each origin's are sorted already, and most recipes have one.
    if (request_.origins.size() > 1) {
      std::sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) { return a.path < b.path; });
    }
    const auto twice = std::adjacent_find(found_.begin(), found_.end(),
                                          [](const Found& a, const Found& b) { return a.path == b.path; });
    return twice == found_.end() ? Ok() : Result<void>(HardLinkedSourceError(twice->path));
  }

  /// Nothing records them: one that is gone in the source stays in the copy.
  Result<void> MakeEmptyFolders() {
    for (const RelPath& path : empty_folders_) {
      PTPKG_TRY(const bool there, Exists(env_.fs, request_.copy / path));
      if (!there) PTPKG_CHECK(env_.fs.MakeDirs(request_.copy / path));
    }
    return Ok();
  }

  /// Recorded paths that no origin has any more.
  std::vector<RelPath> Gone() {
    std::vector<RelPath> gone;
    auto there = found_.begin();
    for (const auto& [path, file] : record_.files) {
      while (there != found_.end() && there->path < path) ++there;
      if (there == found_.end() || there->path != path) gone.push_back(path);
    }
    return gone;
  }

  static Error HardLinkedSourceError(const RelPath& path) {
    return Error(ErrorCode::kInvalidInput, fmt::format("two sources of the recipe contain '{}'", path.str()))
        .WithHint("set target_directory for one of them");
  }

  /// Files to copy. The record of a file with nothing but a new time takes that time.
  Result<std::vector<Found*>> FindChanged() {
    std::vector<Found*> doubtful;
    for (Found& one : found_) {
      if (!IsAsRecorded(one)) doubtful.push_back(&one);
    }
    std::vector<char> differs(doubtful.size(), 1);
    const auto compare = [&](std::size_t i) -> Result<void> {
      PTPKG_TRY(const bool same, HasRecordedContent(*doubtful[i]));
      differs[i] = same ? 0 : 1;
      return Ok();
    };
    PTPKG_CHECK(ParallelFor(env_.jobs, doubtful.size(), compare));
    std::vector<Found*> changed;
    for (std::size_t i = 0; i < doubtful.size(); ++i) {
      if (differs[i] == 0) {
        Record(*doubtful[i], record_.files.at(doubtful[i]->path).digest);
        touched_ = true;
      } else {
        changed.push_back(doubtful[i]);
      }
    }
    return changed;
  }

  [[nodiscard]] bool IsAsRecorded(const Found& one) const {
    const auto before = record_.files.find(one.path);
    return before != record_.files.end() && before->second.kind == one.stat.kind &&
           before->second.executable == source::IsExecutable(one.stat) &&
           before->second.size_bytes == one.stat.size_bytes && before->second.mtime_ns == one.stat.mtime_ns;
  }

  Result<bool> HasRecordedContent(const Found& one) {
    PTPKG_CHECK(env_.cancel.Check());
    const auto before = record_.files.find(one.path);
    if (before == record_.files.end() || before->second.kind != one.stat.kind ||
        before->second.executable != source::IsExecutable(one.stat)) {
      return false;
    }
    if (one.stat.kind == FileKind::kSymlink) return HashText(one.link_target) == before->second.digest;
    if (before->second.size_bytes != one.stat.size_bytes) return false;
    PTPKG_TRY(const Digests digests, HashFile(env_.fs, one.from));
    return digests.sha256 == before->second.digest;
  }

  void Record(const Found& one, const Sha256& digest) {
    const bool young = one.stat.mtime_ns > started_ns_ - kTickNs;
    record_.files.insert_or_assign(
        one.path, SyncRecord::File{.kind = one.stat.kind,
                                   .executable = source::IsExecutable(one.stat),
                                   .size_bytes = one.stat.size_bytes,
                                   .mtime_ns = young ? SyncRecord::kUnsure : one.stat.mtime_ns,
                                   .digest = digest});
  }

  /// True if `folder` of the copy is reached through directories alone: a symlink made by a build
  /// may lead anywhere.
  Result<bool> IsReal(const std::string& folder) {
    if (folder.empty()) return true;
    const auto known = real_.find(folder);
    if (known != real_.end()) return known->second;
    const std::size_t slash = folder.rfind('/');
    PTPKG_TRY(bool real, IsReal(slash == std::string::npos ? "" : folder.substr(0, slash)));
    if (real) {
      const auto stat = env_.fs.Lstat(request_.copy / folder);
      if (!stat && stat.error().code() != ErrorCode::kNotFound) return stat.error();
      real = stat && stat->kind == FileKind::kDirectory;
    }
    real_.emplace(folder, real);
    return real;
  }

  Result<void> RemoveOne(const RelPath& path) {
    PTPKG_CHECK(env_.cancel.Check());
    std::string folder = path.ParentText();
    PTPKG_TRY(const bool real, IsReal(folder));
    if (!real) return Ok();  // the build has taken it away
    const AbsPath place = request_.copy / path;
    const auto stat = env_.fs.Lstat(place);
    if (!stat && stat.error().code() != ErrorCode::kNotFound) return stat.error();
    if (stat && stat->kind != FileKind::kDirectory) PTPKG_CHECK(env_.fs.Remove(place));
    while (!folder.empty()) {
      PTPKG_TRY(const std::vector<std::string> left, env_.fs.ListDir(request_.copy / folder));
      if (!left.empty()) return Ok();
      PTPKG_CHECK(env_.fs.Remove(request_.copy / folder));
      real_.clear();
      const std::size_t slash = folder.rfind('/');
      folder = slash == std::string::npos ? "" : folder.substr(0, slash);
    }
    return Ok();
  }

  static Error PlaceTaken(const RelPath& path, const std::string& by) {
    return Error(ErrorCode::kRefused,
                 fmt::format("the source now has '{}', but the build created something else at '{}'",
                             path.str(), by))
        .WithHint("rename one of them, or start over with --fresh");
  }

  /// Makes the directories of `one`, and room for it.
  Result<void> MakePlace(const Found& one) {
    std::string folder;
    for (const std::string& name : Split(one.path.ParentText(), '/')) {
      if (name.empty()) continue;
      folder += (folder.empty() ? "" : "/") + name;
      PTPKG_TRY(const bool real, IsReal(folder));
      if (real) continue;
      PTPKG_TRY(const bool there, Exists(env_.fs, request_.copy / folder));
      if (there) return PlaceTaken(one.path, folder);
      PTPKG_CHECK(env_.fs.MakeDir(request_.copy / folder));
      real_.insert_or_assign(folder, true);
    }
    const auto stat = env_.fs.Lstat(request_.copy / one.path);
    if (!stat) return stat.error().code() == ErrorCode::kNotFound ? Ok() : Result<void>(stat.error());
    if (request_.first && !request_.replaces) return HardLinkedSourceError(one.path);
    if (stat->kind == FileKind::kDirectory) return PlaceTaken(one.path, one.path.str());
    return env_.fs.Remove(request_.copy / one.path);
  }

  Result<void> CopyAll(const std::vector<Found*>& changed) {
    if (changed.empty()) return Ok();
    Task task(env_.reporter,
              TaskInfo{.stage = "source", .subject = std::string(request_.origins.front().folder.Name())});
    std::vector<Sha256> digests(changed.size());
    const auto copy = [&](std::size_t i) -> Result<void> {
      PTPKG_CHECK(env_.cancel.Check());
      PTPKG_TRY(digests[i], CopyOne(*changed[i]));
      task.Advance(changed[i]->stat.size_bytes);
      return Ok();
    };
    PTPKG_CHECK(ParallelFor(env_.jobs, changed.size(), copy));
    for (std::size_t i = 0; i < changed.size(); ++i) Record(*changed[i], digests[i]);
    task.Done("copied");
    return Ok();
  }

  /// Copies `one` as it was for a moment, which its stat tells afterwards.
  Result<Sha256> CopyOne(Found& one) {
    const AbsPath to = request_.copy / one.path;
    if (one.stat.kind == FileKind::kSymlink) {
      PTPKG_CHECK(env_.fs.CreateSymlink(one.link_target, to));
      return HashText(one.link_target);
    }
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (attempt > 0) PTPKG_CHECK(env_.fs.Remove(to));
      PTPKG_CHECK(env_.fs.CopyFile(one.from, to), "while copying changed sources");
      PTPKG_TRY(const Digests digests, HashFile(env_.fs, to));
      PTPKG_TRY(const FileStat after, env_.fs.Lstat(one.from));
      const bool same = SameStat(one.stat, after) && digests.size_bytes == after.size_bytes;
      one.stat = after;
      if (!same) continue;
      if ((after.mode & 0200U) == 0) PTPKG_CHECK(env_.fs.SetMode(to, (after.mode & 0777U) | 0200U));
      if (!request_.first) PTPKG_CHECK(env_.fs.SetMtime(to, NowNs(env_)));
      return digests.sha256;
    }
    return Error(ErrorCode::kRefused, fmt::format("'{}' changed while it was copied", one.from.str()))
        .WithHint("run the command again when no other program writes to the sources");
  }

  Env& env_;
  const SyncRequest& request_;
  SyncRecord& record_;
  std::int64_t started_ns_;
  bool touched_ = false;                // the record has changed, though no file has
  std::vector<Found> found_;            // by path
  std::vector<RelPath> empty_folders_;  // in the copy
  std::map<std::string, bool> real_;
};

}  // namespace

Result<SyncOutcome> SyncSources(Env& env, const SyncRequest& request, SyncRecord& record) {
  return Syncer(env, request, record).Run();
}

Result<std::size_t> DistrustFilesWrittenSince(Env& env, const AbsPath& copy,
                                              const std::vector<source::WalkEntry>& files,
                                              std::int64_t since_ns, SyncRecord& record) {
  std::size_t distrusted = 0;
  for (const source::WalkEntry& file : files) {
    PTPKG_CHECK(env.cancel.Check());
    const auto found = record.files.find(file.path);
    const bool late = file.stat.kind == FileKind::kRegular && file.stat.mtime_ns >= since_ns;
    if (!late || found == record.files.end()) continue;
    PTPKG_TRY(const Digests digests, HashFile(env.fs, copy / file.path));
    if (digests.sha256 == found->second.digest) continue;
    record.Distrust(file.path);
    ++distrusted;
  }
  return distrusted;
}

}  // namespace ptpkg::builder
