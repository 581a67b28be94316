// Publication is a redo log. Steps, each durable before the next one begins:
// 1. StageFiles links or copies the files below .ptpkg/ under plain numbers, on the same file system.
// 2. WriteJournal records which file gets which name, and which names go.
// 3. CommitMoves keeps a second link to each replaced file, then removes and renames without any other call
//    in between.
// 4. RecordNames writes the manifest.
// 5. FinishPublication removes the second links, the journal and the staging directory.
//
// A failed call undoes its moves with the second links. The next writer completes a killed one from the
// journal: each step may be repeated, because a file that has arrived (equal digest) is not due any more.
//
// Invariants:
// - Sidecar files of replaced artifacts go first. So no artifact is ever found with the statement of
//   another.
// - The journal is removed only when all names are new or all are old.
// - One process at a time holds .ptpkg/lock.

#include "publish/output/output_folder.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "support/digest/hash.h"
#include "support/files/atomic_file.h"
#include "support/files/lock_file.h"

namespace ptpkg::publish {

namespace {

constexpr int kManifestVersion = 2;
constexpr std::string_view kReplaced = "replaced-";  // second links, in the staging directory

Error DamagedManifest(const AbsPath& path) {
  return Error(ErrorCode::kCorrupt, fmt::format("'{}' is damaged", path.str()))
      .WithHint(
          "remove it: ptpkg then treats artifacts that are already there as foreign (replace them with "
          "--force)");
}

/// The manifest's artifacts. Errors: kCorrupt.
Result<std::vector<ArtifactRecord>> RecordsOf(const Json& manifest, const AbsPath& path) {
  if (!manifest.is_object() || !manifest.contains("artifacts") || !manifest["artifacts"].is_array())
    return DamagedManifest(path);
  const auto version = JsonInteger(manifest, "manifest_version", path.str());
  if (!version) return DamagedManifest(path);
  if (*version != kManifestVersion) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("'{}' has format version {}; this ptpkg reads and writes version {}", path.str(),
                             *version, kManifestVersion))
        .WithHint("use the ptpkg that wrote this output directory, or choose another: --output DIR");
  }
  std::vector<ArtifactRecord> records;
  for (const Json& item : manifest["artifacts"]) {
    auto record = ArtifactRecordFromJson(item, path.str());
    if (!record) return DamagedManifest(path);
    records.push_back(*std::move(record));
  }
  return records;
}

}  // namespace

Result<OutputFolder> OutputFolder::Open(Env& env, const AbsPath& root) {
  OutputFolder output(env, root);
  PTPKG_CHECK(output.ReadManifest());
  return output;
}

AbsPath OutputFolder::LogFileOf(const AbsPath& root, std::string_view subject, std::string_view step) {
  return root / "logs" / fmt::format("{}.{}.log", subject, step);
}

RelPath OutputFolder::PlaceOf(ArtifactFormat format, std::string_view subdir, std::string_view name) {
  if (format == ArtifactFormat::kWheel) return RelPath::Literal("wheels") / name;
  if (format == ArtifactFormat::kZip) return RelPath::Literal("zip") / name;
  return RelPath::Literal("conda") / subdir / name;
}

Result<void> OutputFolder::RefuseRoot(const AbsPath& folder) {
  if (folder != AbsPath::Literal("/")) return Ok();
  return Error(ErrorCode::kUsage, "artifacts cannot go into '/' itself")
      .WithHint("give a directory below it; is a variable in its path empty?");
}

Result<void> OutputFolder::Prepare() {
  PTPKG_CHECK(RefuseRoot(root_));
  const std::string frame = fmt::format("while preparing the output directory '{}'", root_.str());
  for (const AbsPath& folder : {CondaRoot(), WheelRoot(), root_ / "logs", StagingRoot()}) {
    PTPKG_CHECK(env_->fs.MakeDirs(folder), frame);
    PTPKG_CHECK(RemoveAbandoned(*env_, folder), frame);
  }
  PTPKG_CHECK(RemoveAbandoned(*env_, root_), frame);
  PTPKG_TRY(const std::unique_ptr<File> lock, Lock(), frame);
  PTPKG_CHECK(ReadManifest());
  return CompletePublication();
}

Result<void> OutputFolder::RecoverPublication(Env& env, const AbsPath& root) {
  PTPKG_TRY(const bool interrupted, Exists(env.fs, OutputFolder(env, root).JournalPath()));
  if (!interrupted) return Ok();
  PTPKG_TRY(OutputFolder output, Open(env, root));
  return output.Prepare();
}

Result<std::unique_ptr<File>> OutputFolder::Lock() {
  PTPKG_CHECK(env_->fs.MakeDirs(StagingRoot()));
  return WaitForLock(*env_, StagingRoot() / "lock", root_.Name());
}

Result<void> OutputFolder::ReadManifest() {
  artifacts_.clear();
  const AbsPath path = root_ / "manifest.json";
  PTPKG_TRY(const bool there, Exists(env_->fs, path));
  if (!there) return Ok();
  PTPKG_TRY(const std::string text, ReadFile(env_->fs, path));
  const auto manifest = ParseJson(text, path.str());
  if (!manifest) return DamagedManifest(path);
  PTPKG_TRY(std::vector<ArtifactRecord> records, RecordsOf(*manifest, path));
  for (ArtifactRecord& record : records) {
    const std::string key = record.path;
    artifacts_.emplace(key, std::move(record));
  }
  if (manifest->contains("stages")) times_ = (*manifest)["stages"];
  return Ok();
}

Result<void> OutputFolder::WriteManifest() {
  Json list = Json::array();
  for (const auto& [path, record] : artifacts_) list.push_back(ArtifactRecordToJson(record));
  return WriteFile(
      env_->fs, root_ / "manifest.json",
      DumpJson({{"manifest_version", kManifestVersion}, {"artifacts", list}, {"stages", times_}}));
}

Json OutputFolder::TimesOf(const RelPath& path) const {
  Json times = Json::array();
  const auto artifact = artifacts_.find(path.str());
  if (artifact == artifacts_.end() || !times_.is_array()) return times;
  for (const Json& time : times_) {
    const auto subject = time.is_object() ? JsonStringOr(time, "subject", "", "") : Result<std::string>("");
    if (subject && *subject == artifact->second.variant) times.push_back(time);
  }
  return times;
}

Result<void> OutputFolder::WriteTimes(const std::vector<StageTime>& times) {
  PTPKG_TRY(const std::unique_ptr<File> lock, Lock());
  PTPKG_CHECK(ReadManifest());
  times_ = Json::array();
  for (const StageTime& time : times) times_.push_back(StageTimeToJson(time));
  for (auto item = artifacts_.begin(); item != artifacts_.end();) {
    PTPKG_TRY(const bool there, Exists(env_->fs, root_ / RelPath::Literal(item->first)));
    item = there ? std::next(item) : artifacts_.erase(item);
  }
  return WriteManifest();
}

Result<void> OutputFolder::Remove(const RelPath& path, const std::string& sha256,
                                  const std::vector<RelPath>& beside) {
  PTPKG_TRY(const std::unique_ptr<File> lock, Lock());
  PTPKG_CHECK(ReadManifest());
  PTPKG_CHECK(CompletePublication());
  PTPKG_TRY(const bool there, Exists(env_->fs, root_ / path));
  if (there) {
    PTPKG_TRY(const Digests digests, HashFile(env_->fs, root_ / path));
    if (digests.sha256.Hex() != sha256) return Ok();
  }
  // The artifact last: without it nobody would look for the rest.
  std::vector<RelPath> all = beside;
  all.push_back(path);
  std::size_t forgotten = 0;
  for (const RelPath& one : all) {
    PTPKG_TRY(const bool left, Exists(env_->fs, root_ / one));
    if (left) PTPKG_CHECK(env_->fs.Remove(root_ / one));
    forgotten += artifacts_.erase(one.str());
  }
  if (there) PTPKG_CHECK(env_->fs.SyncDir((root_ / path).Parent()));
  return forgotten == 0 ? Ok() : WriteManifest();
}

Result<bool> OutputFolder::IsPresent(const ArtifactRecord& record) {
  PTPKG_TRY(const RelPath place, RelPath::Parse(record.path));
  const AbsPath path = root_ / place;
  PTPKG_TRY(const bool there, Exists(env_->fs, path));
  if (!there) return false;
  PTPKG_TRY(const FileStat stat, env_->fs.Lstat(path));
  if (stat.kind != FileKind::kRegular || stat.size_bytes != record.size_bytes) return false;
  // Renaming keeps the time, and a copy of the directory costs one hash a file: half a second for torch's
  // wheel.
  if (record.mtime_ns != 0 && stat.mtime_ns == record.mtime_ns) return true;
  PTPKG_TRY(const Digests digests, HashFile(env_->fs, path));
  return digests.sha256.Hex() == record.sha256;
}

namespace {

std::vector<ArtifactRecord> Matching(const std::map<std::string, ArtifactRecord>& artifacts,
                                     const auto& predicate) {
  std::vector<ArtifactRecord> records;
  for (const auto& [path, record] : artifacts) {
    if (predicate(record)) records.push_back(record);
  }
  return records;
}

}  // namespace

Result<std::vector<ArtifactRecord>> OutputFolder::Listed() {
  std::vector<ArtifactRecord> records;
  for (const auto& [path, record] : artifacts_) {
    PTPKG_TRY(const bool there, Exists(env_->fs, root_ / RelPath::Literal(path)));
    if (!there) {
      return Error(ErrorCode::kNotFound,
                   fmt::format("'{}' lists '{}', which no longer exists", root_.str(), path))
          .WithHint("give the artifact files, or build again");
    }
    PTPKG_TRY(const bool same, IsPresent(record));
    if (!same) {
      return Error(ErrorCode::kHashMismatch,
                   fmt::format("'{}' differs from the digest in '{}': it was changed or damaged", path,
                               root_.str()))
          .WithHint("build again with --force, or give the artifact files");
    }
    records.push_back(record);
  }
  return records;
}

Result<std::vector<ArtifactRecord>> OutputFolder::ArtifactsOfNode(const std::string& key) {
  auto records = Matching(artifacts_, [&](const ArtifactRecord& record) { return record.key == key; });
  for (const ArtifactRecord& record : records) {
    PTPKG_TRY(const bool present, IsPresent(record));
    if (!present) return std::vector<ArtifactRecord>();
  }
  return records;
}

Result<std::vector<ArtifactRecord>> OutputFolder::ArtifactsOfPublication(const std::string& key) {
  auto records =
      Matching(artifacts_, [&](const ArtifactRecord& record) { return record.publication == key; });
  for (const ArtifactRecord& record : records) {
    // One that another publication has replaced is missing here.
    PTPKG_TRY(const bool present, IsPresent(record));
    if (!present || record.publication_size != records.size()) return std::vector<ArtifactRecord>();
  }
  return records;
}

std::vector<ArtifactRecord> OutputFolder::CheckedArtifacts(const std::string& key) const {
  return Matching(artifacts_, [&](const ArtifactRecord& record) {
    return std::find(record.checks.begin(), record.checks.end(), key) != record.checks.end();
  });
}

namespace {

/// True if both names belong to one variant, such as "toy-1.0-h1234567_0". `one` has this build number.
bool IsOneVariant(const std::string& one, const std::string& build_number, const std::string& other) {
  if (one == other) return true;
  if (build_number.empty() || !one.ends_with("_" + build_number)) return false;
  const std::string stem = one.substr(0, one.size() - build_number.size());
  return other.starts_with(stem) && other.size() > stem.size() &&
         other.find_first_not_of("0123456789", stem.size()) == std::string::npos;
}

}  // namespace

Result<void> OutputFolder::CheckZipPlace(const ArtifactRecord& record, const std::string& build_number) {
  const auto known = artifacts_.find(record.path);
  if (known == artifacts_.end() || known->second.variant.empty()) return Ok();
  const std::string& other = known->second.variant;
  if (IsOneVariant(record.variant, build_number, other)) return Ok();
  const AbsPath target = root_ / RelPath::Literal(record.path);
  PTPKG_TRY(const bool there, Exists(env_->fs, target));
  if (!there) return Ok();
  return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' would replace the zip published by '{}': '{}'",
                                                      record.variant, other, target.str()))
      .WithHint(
          "use another output directory (--output DIR), give the zips different names "
          "(extra.ptpkg.zip.name), or replace it with --force");
}

Result<void> OutputFolder::CheckPlace(const PublishItem& item, ForeignFilePolicy on_foreign) {
  const ArtifactRecord& record = item.record;
  const AbsPath target = root_ / RelPath::Literal(record.path);
  PTPKG_TRY(const bool there, Exists(env_->fs, target));
  if (!there || on_foreign == ForeignFilePolicy::kReplace) return Ok();
  PTPKG_TRY(const bool same, IsPresent(record));
  if (same) return Ok();
  if (on_foreign == ForeignFilePolicy::kRefuseAny) {
    return Error(ErrorCode::kAlreadyExists,
                 fmt::format("'{}' already exists with different content", target.str()))
        .WithHint("raise the build number, or replace it with --force");
  }
  if (record.format == ArtifactFormatName(ArtifactFormat::kZip))
    PTPKG_CHECK(CheckZipPlace(record, item.build_number));
  const auto known = artifacts_.find(record.path);
  if (known != artifacts_.end()) {
    const ArtifactRecord& other = known->second;
    if (!record.siblings.empty() && other.siblings == record.siblings && other.variant != record.variant) {
      return Error(ErrorCode::kAlreadyExists,
                   fmt::format("'{}' and '{}' write the same file with different content: '{}'",
                               other.variant, record.variant, target.str()))
          .WithHint(
              "use a different version for each variant (1.0+cpu, 1.0+cu130), or build one of them with "
              "--select");
    }
    PTPKG_TRY(const bool ours, IsPresent(known->second));
    if (ours) return Ok();
    return Error(ErrorCode::kAlreadyExists,
                 fmt::format("'{}' differs from the file that ptpkg published: it was changed or damaged",
                             target.str()))
        .WithHint("move the file away, or replace it with --force");
  }
  return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' already exists with different content and is not "
                                                      "in the manifest.json of this output directory",
                                                      target.str()))
      .WithHint("raise the build number, move the file away, or replace it with --force");
}

Result<std::vector<std::string>> OutputFolder::StaleSidecars(const std::vector<PublishItem>& items) {
  std::set<std::string> brought;
  for (const PublishItem& item : items) brought.insert(item.record.path);
  std::vector<std::string> left;
  for (const PublishItem& item : items) {
    const std::string& path = item.record.path;
    if (item.file == root_ / RelPath::Literal(path)) continue;  // the same bytes
    for (auto known = artifacts_.lower_bound(path + "."); known != artifacts_.end(); ++known) {
      if (!known->first.starts_with(path + ".")) break;
      if (known->second.IsSidecar() && !brought.contains(known->first)) left.push_back(known->first);
    }
  }
  return left;
}

std::vector<OutputFolder::Move> OutputFolder::MovesOf(const Batch& batch) const {
  std::vector<Move> moves;
  const auto add = [&](const AbsPath& from, const AbsPath& to, bool goes) {
    moves.push_back({.from = from,
                     .to = to,
                     .replaced = StagingRoot() / fmt::format("{}{}", kReplaced, moves.size()),
                     .goes = goes});
  };
  for (const PublishItem& item : batch.items)
    add(item.file, root_ / RelPath::Literal(item.record.path), false);
  for (const std::string& path : batch.goes) {
    const AbsPath place = root_ / RelPath::Literal(path);
    add(place, place, true);
  }
  return moves;
}

Result<void> OutputFolder::WriteJournal(const Batch& batch) {
  Json list = Json::array();
  for (const PublishItem& item : batch.items) {
    PTPKG_TRY(const RelPath from, item.file.RelativeTo(root_));
    list.push_back({{"from", from.str()}, {"record", ArtifactRecordToJson(item.record)}});
  }
  return WriteFile(env_->fs, JournalPath(), DumpJson({{"items", list}, {"goes", batch.goes}}));
}

Result<OutputFolder::Batch> OutputFolder::ReadJournal() {
  const std::string where = JournalPath().str();
  PTPKG_TRY(const std::string text, ReadFile(env_->fs, JournalPath()));
  PTPKG_TRY(const Json json, ParseJson(text, where));
  Batch batch;
  PTPKG_TRY(batch.goes, JsonStringsOr(json, "goes", {}, where));
  for (const std::string& path : batch.goes) PTPKG_CHECK(RelPath::Parse(path));
  for (const Json& item : json.value("items", Json::array())) {
    PTPKG_TRY(const std::string from, JsonString(item, "from", where));
    PTPKG_TRY(const RelPath path, RelPath::Parse(from));
    PTPKG_TRY(ArtifactRecord record, ArtifactRecordFromJson(item.value("record", Json::object()), where));
    batch.items.push_back({.file = root_ / path, .record = std::move(record)});
  }
  return batch;
}

bool OutputFolder::UndoMoves(const std::vector<Move>& moves) {
  // Best effort: the journal completes later whatever cannot be undone now. So it goes only when everything
  // else has its old state.
  bool whole = true;
  for (const Move& move : moves) {
    const auto replaced = Exists(env_->fs, move.replaced);
    if (!replaced) {
      whole = false;
    } else if (*replaced) {
      // Two names of one file: a rename from one to the other would do nothing.
      const auto back = move.done ? env_->fs.Rename(move.replaced, move.to) : env_->fs.Remove(move.replaced);
      whole = back.has_value() && whole;
    } else if (move.done) {
      whole = env_->fs.Remove(move.to).has_value() && whole;
    }
  }
  // A manifest that was replaced, but not made durable, may list files that do not exist.
  whole = WriteManifest().has_value() && whole;
  whole = whole && env_->fs.Remove(JournalPath()).has_value();
  if (whole) static_cast<void>(RemoveTree(env_->fs, IncomingRoot()));  // else the next run
  return whole;
}

/// Plain numbers as names: a file's kind follows from its name, so nobody takes "0" for a package.
Result<void> OutputFolder::StageFiles(std::vector<PublishItem>& items) {
  PTPKG_CHECK(RemoveTree(env_->fs, IncomingRoot()));
  PTPKG_CHECK(env_->fs.MakeDirs(IncomingRoot()));
  // The mode that new files get here, by the umask: results in the store may have another one.
  const AbsPath probe = IncomingRoot() / "mode";
  PTPKG_CHECK(WriteFile(env_->fs, probe, ""));
  PTPKG_TRY(const FileStat fresh, env_->fs.Lstat(probe));
  for (std::size_t i = 0; i < items.size(); ++i) {
    PTPKG_CHECK(env_->cancel.Check());
    if (items[i].file == root_ / RelPath::Literal(items[i].record.path)) continue;
    const AbsPath to = IncomingRoot() / std::to_string(i);
    PTPKG_CHECK(StageOneFile(items[i].file, to, fresh.mode));
    items[i].file = to;
  }
  return env_->fs.SyncDir(IncomingRoot());
}

Result<void> OutputFolder::StageOneFile(const AbsPath& from, const AbsPath& to, std::uint32_t mode) {
  // The file stays where it is: other nodes may be reading it.
  bool is_staged = false;
  if (env_->fs.CreateHardLink(from, to)) {
    PTPKG_TRY(const FileStat stat, env_->fs.Lstat(to));
    is_staged = stat.mode == mode || env_->fs.SetMode(to, mode);
    if (!is_staged) PTPKG_CHECK(env_->fs.Remove(to));  // another user's
  }
  if (!is_staged) {
    PTPKG_CHECK(env_->fs.CopyFile(from, to));
    PTPKG_CHECK(env_->fs.SetMode(to, mode));
  }
  PTPKG_TRY(const std::unique_ptr<File> staged, env_->fs.Open(to, OpenMode::kRead));
  PTPKG_CHECK(staged->Sync());
  return staged->Close();
}

Result<std::vector<OutputFolder::Move*>> OutputFolder::PendingMoves(const Batch& batch,
                                                                    std::vector<Move>& moves) {
  std::vector<Move*> due;
  for (Move& move : moves) {
    if (!move.goes) continue;
    PTPKG_TRY(const bool there, Exists(env_->fs, move.to));
    // First: nobody finds a new artifact with the statement of an old one.
    if (there) due.push_back(&move);
  }
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    if (moves[i].from == moves[i].to) continue;
    PTPKG_TRY(const bool arrived, IsPresent(batch.items[i].record));
    if (!arrived) due.push_back(&moves[i]);
  }
  return due;
}

Result<void> OutputFolder::CommitMoves(const Batch& batch, std::vector<Move>& moves) {
  PTPKG_TRY(const std::vector<Move*> due, PendingMoves(batch, moves));
  std::set<AbsPath> folders;
  for (Move* const move : due) {
    PTPKG_CHECK(env_->fs.MakeDirs(move->to.Parent()));
    // A new directory lasts only once its parent is synced, too.
    for (AbsPath folder = move->to.Parent(); folder.IsWithin(root_); folder = folder.Parent()) {
      folders.insert(folder);
      if (folder == root_) break;
    }
    PTPKG_TRY(const bool there, Exists(env_->fs, move->to));
    PTPKG_TRY(const bool replaced, Exists(env_->fs, move->replaced));
    if (there && !replaced) PTPKG_CHECK(env_->fs.CreateHardLink(move->to, move->replaced));
  }
  // Nothing but these calls between the first name and the last one.
  for (Move* const move : due) {
    PTPKG_CHECK(move->goes ? env_->fs.Remove(move->to) : env_->fs.Rename(move->from, move->to));
    move->done = true;
  }
  for (const AbsPath& folder : folders) PTPKG_CHECK(env_->fs.SyncDir(folder));
  return RecordNames(batch);
}

Result<void> OutputFolder::RecordNames(const Batch& batch) {
  // All facts are read before anything is recorded, so that moves undone after an error are not in the
  // manifest.
  std::vector<ArtifactRecord> records;
  for (const PublishItem& item : batch.items) {
    ArtifactRecord record = item.record;
    PTPKG_TRY(const FileStat stat, env_->fs.Lstat(root_ / RelPath::Literal(record.path)));
    record.mtime_ns = stat.mtime_ns;
    records.push_back(std::move(record));
  }
  std::map<std::string, ArtifactRecord> before = artifacts_;
  for (const std::string& path : batch.goes) artifacts_.erase(path);
  for (ArtifactRecord& record : records) {
    const std::string path = record.path;
    artifacts_.insert_or_assign(path, std::move(record));
  }
  auto written = WriteManifest();
  if (!written) artifacts_ = std::move(before);
  return written;
}

Result<void> OutputFolder::FinishPublication(const std::vector<Move>& moves) {
  for (const Move& move : moves) {
    PTPKG_TRY(const bool there, Exists(env_->fs, move.replaced));
    if (there) PTPKG_CHECK(env_->fs.Remove(move.replaced));
  }
  PTPKG_CHECK(env_->fs.Remove(JournalPath()));
  return RemoveTree(env_->fs, IncomingRoot());
}

Result<void> OutputFolder::CompletePublication() {
  PTPKG_TRY(const bool there, Exists(env_->fs, JournalPath()));
  if (!there) return RemoveTree(env_->fs, IncomingRoot());  // of one that was killed before its journal
  const std::string frame = "while completing an interrupted publication";
  const auto batch = ReadJournal();
  if (!batch) {
    if (batch.error().code() == ErrorCode::kIo) return Error(batch.error()).WithContext(frame);
    // It was written whole, so a disk has damaged it: nothing tells any more what was under way.
    env_->reporter.Warn(fmt::format(
        "removing the damaged '{}': {}; files that it had already published are not in manifest.json",
        JournalPath().str(), batch.error().message()));
    PTPKG_TRY(const std::vector<std::string> names, env_->fs.ListDir(StagingRoot()), frame);
    for (const std::string& name : names) {
      // Else the next publication would take it for the file that it replaces.
      if (name.starts_with(kReplaced)) PTPKG_CHECK(env_->fs.Remove(StagingRoot() / name), frame);
    }
    return env_->fs.Remove(JournalPath());
  }
  std::vector<Move> moves = MovesOf(*batch);
  auto named = CommitMoves(*batch, moves);
  if (named) return FinishPublication(moves);
  if (named.error().code() != ErrorCode::kNotFound) return std::move(named).error().WithContext(frame);
  for (std::size_t i = 0; i < moves.size(); ++i) {
    if (moves[i].goes) {
      PTPKG_TRY(const bool stays, Exists(env_->fs, moves[i].to), frame);
      moves[i].done = !stays;
      continue;
    }
    if (moves[i].from == moves[i].to) continue;
    PTPKG_TRY(moves[i].done, IsPresent(batch->items[i].record), frame);
  }
  if (!UndoMoves(moves)) return std::move(named).error().WithContext(frame);
  env_->reporter.Warn(fmt::format("rolling back an interrupted publication because its files are missing: {}",
                                  named.error().message()));
  return Ok();
}

Result<void> OutputFolder::SkipIdenticalFiles(std::vector<PublishItem>& items) {
  for (PublishItem& item : items) {
    const AbsPath target = root_ / RelPath::Literal(item.record.path);
    if (item.file == target) continue;
    PTPKG_TRY(const bool same, IsPresent(item.record));
    if (same) item.file = target;
  }
  return Ok();
}

Result<void> OutputFolder::Publish(std::vector<PublishItem> items, ForeignFilePolicy on_foreign) {
  PTPKG_TRY(const std::unique_ptr<File> lock, Lock());
  // Another process may have published since this one looked.
  PTPKG_CHECK(ReadManifest());
  PTPKG_CHECK(CompletePublication());
  for (const PublishItem& item : items) PTPKG_CHECK(CheckPlace(item, on_foreign));
  PTPKG_CHECK(SkipIdenticalFiles(items));
  Batch batch{.items = std::move(items)};
  PTPKG_TRY(batch.goes, StaleSidecars(batch.items));
  if (auto brought = StageFiles(batch.items); !brought) {
    static_cast<void>(RemoveTree(env_->fs, IncomingRoot()));  // else the next run
    return std::move(brought).error().WithContext("while publishing");
  }
  PTPKG_CHECK(WriteJournal(batch), "while publishing");
  std::vector<Move> moves = MovesOf(batch);
  auto named = CommitMoves(batch, moves);
  if (!named) {
    static_cast<void>(UndoMoves(moves));
    return std::move(named).error().WithContext("while publishing");
  }
  if (const auto tidied = FinishPublication(moves); !tidied) {
    env_->reporter.Warn(fmt::format("everything is published, but cleanup is left to the next run: {}",
                                    tidied.error().message()));
  }
  return Ok();
}

}  // namespace ptpkg::publish
