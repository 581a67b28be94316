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
struct SourceFile {
  RelPath path;  ///< In the copy.
  AbsPath from;
  FileStat stat;
  std::string link_target;
};

/// Everything that the origins hold.
struct SourceListing {
  std::vector<SourceFile> files;       ///< By path, each path once.
  std::vector<RelPath> empty_folders;  ///< In the copy.
};

bool SameStat(const FileStat& a, const FileStat& b) {
  return a.kind == b.kind && a.size_bytes == b.size_bytes && a.mtime_ns == b.mtime_ns && a.mode == b.mode;
}

Error HardLinkedSourceError(const RelPath& path) {
  return Error(ErrorCode::kInvalidInput, fmt::format("two sources of the recipe contain '{}'", path.str()))
      .WithHint("set target_directory for one of them");
}

Result<void> AddOrigin(Env& env, const SyncOrigin& origin, SourceListing& listing) {
  PTPKG_TRY(
      std::vector<source::WalkEntry> entries,
      source::Walk(
          env, origin.folder,
          {.sources_only = true, .no_run_files = true, .empty_folders = true, .left_out = origin.left_out}));
  for (source::WalkEntry& entry : entries) {
    RelPath path = entry.path;
    if (!origin.below.empty()) {
      PTPKG_TRY(path, RelPath::Parse(origin.below + "/" + path.str()));
    }
    if (entry.stat.kind == FileKind::kDirectory) {
      listing.empty_folders.push_back(std::move(path));
      continue;
    }
    SourceFile one{
        .path = std::move(path), .from = origin.folder / entry.path, .stat = entry.stat, .link_target = {}};
    if (entry.stat.kind != FileKind::kRegular) {
      PTPKG_TRY(const TreeEntry checked, source::CheckEntry(env, origin.folder, std::move(entry)));
      one.link_target = checked.link_target;
    }
    listing.files.push_back(std::move(one));
  }
  return Ok();
}

/// Errors: kInvalidInput for a file that two origins hold.
Result<SourceListing> ListSources(Env& env, const std::vector<SyncOrigin>& origins) {
  SourceListing listing;
  for (const SyncOrigin& origin : origins) PTPKG_CHECK(AddOrigin(env, origin, listing));
  std::vector<SourceFile>& files = listing.files;
  // Each origin's are sorted already, and most recipes have one.
  if (origins.size() > 1) {
    std::sort(files.begin(), files.end(),
              [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  }
  const auto twice = std::adjacent_find(
      files.begin(), files.end(), [](const SourceFile& a, const SourceFile& b) { return a.path == b.path; });
  if (twice != files.end()) return HardLinkedSourceError(twice->path);
  return listing;
}

bool IsAsRecorded(const SourceFile& one, const SyncRecord& record) {
  const auto before = record.files.find(one.path);
  return before != record.files.end() && before->second.kind == one.stat.kind &&
         before->second.executable == source::IsExecutable(one.stat) &&
         before->second.size_bytes == one.stat.size_bytes && before->second.mtime_ns == one.stat.mtime_ns;
}

Result<bool> HasRecordedContent(Env& env, const SourceFile& one, const SyncRecord& record) {
  PTPKG_CHECK(env.cancel.Check());
  const auto before = record.files.find(one.path);
  if (before == record.files.end() || before->second.kind != one.stat.kind ||
      before->second.executable != source::IsExecutable(one.stat)) {
    return false;
  }
  if (one.stat.kind == FileKind::kSymlink) return HashText(one.link_target) == before->second.digest;
  if (before->second.size_bytes != one.stat.size_bytes) return false;
  PTPKG_TRY(const Digests digests, HashFile(env.fs, one.from));
  return digests.sha256 == before->second.digest;
}

/// Files that are not as recorded, by path.
struct SourceChanges {
  std::vector<const SourceFile*> changed;  ///< To copy.
  std::vector<const SourceFile*> retimed;  ///< The time is new, and nothing else.
};

Result<SourceChanges> FindChanges(Env& env, const std::vector<SourceFile>& files, const SyncRecord& record) {
  std::vector<const SourceFile*> doubtful;
  for (const SourceFile& one : files) {
    if (!IsAsRecorded(one, record)) doubtful.push_back(&one);
  }
  std::vector<char> differs(doubtful.size(), 1);
  const auto compare = [&](std::size_t i) -> Result<void> {
    PTPKG_TRY(const bool same, HasRecordedContent(env, *doubtful[i], record));
    differs[i] = same ? 0 : 1;
    return Ok();
  };
  PTPKG_CHECK(ParallelFor(env.jobs, doubtful.size(), compare));
  SourceChanges changes;
  for (std::size_t i = 0; i < doubtful.size(); ++i) {
    (differs[i] == 0 ? changes.retimed : changes.changed).push_back(doubtful[i]);
  }
  return changes;
}

/// Recorded paths that no origin has any more.
std::vector<RelPath> GonePaths(const std::vector<SourceFile>& files, const SyncRecord& record) {
  std::vector<RelPath> gone;
  auto there = files.begin();
  for (const auto& [path, file] : record.files) {
    while (there != files.end() && there->path < path) ++there;
    if (there == files.end() || there->path != path) gone.push_back(path);
  }
  return gone;
}

/// True if the copy gets a file that the record does not have. Errors: kInvalidInput for one that another
/// source has brought.
Result<bool> AddsFiles(const SyncRequest& request, const std::vector<const SourceFile*>& changed,
                       const SyncRecord& record) {
  bool adds = false;
  for (const SourceFile* one : changed) {
    if (record.files.contains(one->path)) continue;
    if (request.is_taken && request.is_taken(one->path)) return HardLinkedSourceError(one->path);
    adds = true;
  }
  return adds;
}

SyncRecord::File RecordOf(const FileStat& stat, const Sha256& digest, std::int64_t started_ns) {
  const bool young = stat.mtime_ns > started_ns - kTickNs;
  return SyncRecord::File{.kind = stat.kind,
                          .executable = source::IsExecutable(stat),
                          .size_bytes = stat.size_bytes,
                          .mtime_ns = young ? SyncRecord::kUnsure : stat.mtime_ns,
                          .digest = digest};
}

/// Makes and removes places for files in the copy. A place is reached through directories alone, because a
/// symlink made by a build may lead anywhere. Remembers the directories that are such.
class CopyPlaces {
 public:
  /// Both are borrowed.
  CopyPlaces(Fs& fs, const AbsPath& copy) : fs_(fs), copy_(copy) {}

  /// Removes the file, and directories that are empty then. One that the build has taken away is gone.
  Result<void> Remove(const RelPath& path) {
    std::string folder = path.ParentText();
    PTPKG_TRY(const bool real, IsReal(folder));
    if (!real) return Ok();
    const AbsPath place = copy_ / path;
    const auto stat = fs_.Lstat(place);
    if (!stat && stat.error().code() != ErrorCode::kNotFound) return stat.error();
    if (stat && stat->kind != FileKind::kDirectory) PTPKG_CHECK(fs_.Remove(place));
    while (!folder.empty()) {
      PTPKG_TRY(const std::vector<std::string> left, fs_.ListDir(copy_ / folder));
      if (!left.empty()) return Ok();
      PTPKG_CHECK(fs_.Remove(copy_ / folder));
      real_.clear();
      const std::size_t slash = folder.rfind('/');
      folder = slash == std::string::npos ? "" : folder.substr(0, slash);
    }
    return Ok();
  }

  /// Makes the directories of the file, and room for it. `refuse`: a file there is another source's.
  Result<void> Make(const RelPath& path, bool refuse) {
    std::string folder;
    for (const std::string& name : Split(path.ParentText(), '/')) {
      if (name.empty()) continue;
      folder += (folder.empty() ? "" : "/") + name;
      PTPKG_TRY(const bool real, IsReal(folder));
      if (real) continue;
      PTPKG_TRY(const bool there, Exists(fs_, copy_ / folder));
      if (there) return PlaceTaken(path, folder);
      PTPKG_CHECK(fs_.MakeDir(copy_ / folder));
      real_.insert_or_assign(folder, true);
    }
    const auto stat = fs_.Lstat(copy_ / path);
    if (!stat) return stat.error().code() == ErrorCode::kNotFound ? Ok() : Result<void>(stat.error());
    if (refuse) return HardLinkedSourceError(path);
    if (stat->kind == FileKind::kDirectory) return PlaceTaken(path, path.str());
    return fs_.Remove(copy_ / path);
  }

 private:
  Result<bool> IsReal(const std::string& folder) {
    if (folder.empty()) return true;
    const auto known = real_.find(folder);
    if (known != real_.end()) return known->second;
    const std::size_t slash = folder.rfind('/');
    PTPKG_TRY(bool real, IsReal(slash == std::string::npos ? "" : folder.substr(0, slash)));
    if (real) {
      const auto stat = fs_.Lstat(copy_ / folder);
      if (!stat && stat.error().code() != ErrorCode::kNotFound) return stat.error();
      real = stat && stat->kind == FileKind::kDirectory;
    }
    real_.emplace(folder, real);
    return real;
  }

  static Error PlaceTaken(const RelPath& path, const std::string& by) {
    return Error(ErrorCode::kRefused,
                 fmt::format("the source now has '{}', but the build created something else at '{}'",
                             path.str(), by))
        .WithHint("rename one of them, or start over with --fresh");
  }

  Fs& fs_;
  const AbsPath& copy_;
  std::map<std::string, bool> real_;
};

/// A file of the copy.
struct CopiedFile {
  FileStat stat;  ///< Of the source, when it was copied.
  Sha256 digest;
};

/// Copies `one` as it was for a moment, which its stat tells afterwards.
Result<CopiedFile> CopyOne(Env& env, const SyncRequest& request, const SourceFile& one) {
  const AbsPath to = request.copy / one.path;
  if (one.stat.kind == FileKind::kSymlink) {
    PTPKG_CHECK(env.fs.CreateSymlink(one.link_target, to));
    return CopiedFile{.stat = one.stat, .digest = HashText(one.link_target)};
  }
  FileStat before = one.stat;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 0) PTPKG_CHECK(env.fs.Remove(to));
    PTPKG_CHECK(env.fs.CopyFile(one.from, to), "while copying changed sources");
    PTPKG_TRY(const Digests digests, HashFile(env.fs, to));
    PTPKG_TRY(const FileStat after, env.fs.Lstat(one.from));
    const bool same = SameStat(before, after) && digests.size_bytes == after.size_bytes;
    before = after;
    if (!same) continue;
    if ((after.mode & 0200U) == 0) PTPKG_CHECK(env.fs.SetMode(to, (after.mode & 0777U) | 0200U));
    if (!request.first) PTPKG_CHECK(env.fs.SetMtime(to, NowNs(env)));
    return CopiedFile{.stat = after, .digest = digests.sha256};
  }
  return Error(ErrorCode::kRefused, fmt::format("'{}' changed while it was copied", one.from.str()))
      .WithHint("run the command again when no other program writes to the sources");
}

/// Copies all of `changed` into places that are made. One result for each.
Result<std::vector<CopiedFile>> CopyAll(Env& env, const SyncRequest& request,
                                        const std::vector<const SourceFile*>& changed) {
  std::vector<CopiedFile> copied(changed.size());
  if (changed.empty()) return copied;
  Task task(env.reporter,
            TaskInfo{.stage = "source", .subject = std::string(request.origins.front().folder.Name())});
  const auto copy = [&](std::size_t i) -> Result<void> {
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_TRY(copied[i], CopyOne(env, request, *changed[i]));
    task.Advance(copied[i].stat.size_bytes);
    return Ok();
  };
  PTPKG_CHECK(ParallelFor(env.jobs, changed.size(), copy));
  task.Done("copied");
  return copied;
}

/// Nothing records them: one that is gone in the source stays in the copy.
Result<void> MakeEmptyFolders(Fs& fs, const AbsPath& copy, const std::vector<RelPath>& folders) {
  for (const RelPath& path : folders) {
    PTPKG_TRY(const bool there, Exists(fs, copy / path));
    if (!there) PTPKG_CHECK(fs.MakeDirs(copy / path));
  }
  return Ok();
}

}  // namespace

Result<SyncOutcome> SyncSources(Env& env, const SyncRequest& request, SyncRecord& record) {
  const std::int64_t started_ns = NowNs(env);
  PTPKG_TRY(const SourceListing listing, ListSources(env, request.origins));
  PTPKG_TRY(const SourceChanges changes, FindChanges(env, listing.files, record));
  for (const SourceFile* one : changes.retimed) {
    SyncRecord::File& recorded = record.files.at(one->path);
    recorded = RecordOf(one->stat, recorded.digest, started_ns);
  }
  const std::vector<const SourceFile*>& changed = changes.changed;
  SyncOutcome outcome;
  outcome.removed = GonePaths(listing.files, record);
  PTPKG_TRY(const bool adds, AddsFiles(request, changed, record));
  const bool others = adds || !outcome.removed.empty();
  if (others && request.before_other_files) PTPKG_CHECK(request.before_other_files());
  // From here on until the end the copy is neither: a run that is killed has to be made good. A new file
  // is recorded before it is there, because its source may be gone when the next run looks.
  for (const SourceFile* one : changed) record.Distrust(one->path);
  const bool differs = !changed.empty() || !outcome.removed.empty();
  if (!request.first && differs) PTPKG_CHECK(record.Write(env.fs, request.record_file));
  CopyPlaces places(env.fs, request.copy);
  for (const RelPath& path : outcome.removed) {
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_CHECK(places.Remove(path));
  }
  for (const RelPath& path : outcome.removed) record.files.erase(path);
  const bool refuse = request.first && !request.replaces;
  for (const SourceFile* one : changed) PTPKG_CHECK(places.Make(one->path, refuse));
  PTPKG_TRY(const std::vector<CopiedFile> copied, CopyAll(env, request, changed));
  for (std::size_t i = 0; i < changed.size(); ++i) {
    record.files.insert_or_assign(changed[i]->path, RecordOf(copied[i].stat, copied[i].digest, started_ns));
  }
  PTPKG_CHECK(MakeEmptyFolders(env.fs, request.copy, listing.empty_folders));
  if (!changes.retimed.empty() || request.first || differs) {
    PTPKG_CHECK(record.Write(env.fs, request.record_file));
  }
  for (const SourceFile* one : changed) outcome.copied.push_back(one->path);
  return outcome;
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
