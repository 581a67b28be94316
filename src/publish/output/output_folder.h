#pragma once
// Output directory: conda channel, wheel index, zips, logs, manifest. Layer: publish.
//
//   <root>/conda/<subdir>/…   <root>/wheels/…   <root>/zip/…   <root>/logs/…   <root>/manifest.json
//   <root>/.ptpkg/            the files of a publication under way, by number, and its journal
//
// A publication is all or nothing. Its files are first brought to the same file system without their names,
// and a journal lists the names that they get. Then renames give all names at once, and the manifest is
// written. A call that fails undoes its changes. The next process that opens the directory for writing
// completes a killed one. One process publishes at a time. Every file gets the mode that the umask gives to a
// new one.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/artifact.h"
#include "model/artifact_record.h"
#include "model/stage_time.h"
#include "support/env.h"

namespace ptpkg::publish {

/// One checked file that is to get its name.
struct PublishItem {
  AbsPath file = AbsPath::Literal("/nonexistent");  ///< Anywhere; it stays, and may get another mode.
  ArtifactRecord record;          ///< `record.path` is the place below the output directory.
  std::string build_number = {};  ///< Build number of record.variant, "" when unknown.
};

enum class ForeignFilePolicy : std::uint8_t {
  kRefuse,
  kRefuseAny,  ///< Nor are files replaced that the manifest knows: what was published stays.
  kReplace,    ///< "--force": also files that the manifest does not know.
};

class OutputFolder {
 public:
  /// Reads the manifest and writes nothing; the directory need not exist. Errors: kCorrupt with a hint
  /// (manifest.json is damaged, or of another version of ptpkg), kIo.
  static Result<OutputFolder> Open(Env& env, const AbsPath& root);

  [[nodiscard]] const AbsPath& root() const { return root_; }
  [[nodiscard]] AbsPath CondaRoot() const { return CondaRootOf(root_); }
  [[nodiscard]] static AbsPath CondaRootOf(const AbsPath& root) { return root / "conda"; }
  [[nodiscard]] AbsPath WheelRoot() const { return root_ / "wheels"; }
  [[nodiscard]] AbsPath StagingRoot() const { return root_ / ".ptpkg"; }
  [[nodiscard]] static AbsPath LogFileOf(const AbsPath& root, std::string_view subject,
                                         std::string_view step);

  /// Path for an artifact of this name: "conda/linux-64/x.conda", "wheels/x.whl", "zip/x.zip".
  [[nodiscard]] static RelPath PlaceOf(ArtifactFormat format, std::string_view subdir, std::string_view name);

  /// Errors: kUsage for "/", which is most often a path with an empty variable.
  static Result<void> RefuseRoot(const AbsPath& folder);

  /// Makes the directories, completes a killed publication, and removes leftovers of killed runs. A
  /// publication that cannot be completed, because its files are gone, is rolled back, with a warning.
  /// Errors: any from RefuseRoot, kIo with a hint (permission, full disk), kCancelled.
  Result<void> Prepare();
  /// Completes a killed publication, if `root` is an output directory with one; writes nothing else. Errors:
  /// any from Open and Prepare.
  static Result<void> RecoverPublication(Env& env, const AbsPath& root);

  /// The artifacts that the node of this key made, as far as the manifest lists them, if all of these exist
  /// unchanged; else none. The caller compares their number.
  Result<std::vector<ArtifactRecord>> ArtifactsOfNode(const std::string& key);
  /// The artifacts of the publication of this key, if all of them are there, unchanged; else none.
  Result<std::vector<ArtifactRecord>> ArtifactsOfPublication(const std::string& key);
  /// The artifacts that passed the check of this key, whether they are still there or not.
  [[nodiscard]] std::vector<ArtifactRecord> CheckedArtifacts(const std::string& key) const;

  /// All artifacts of the manifest, by path. Errors: kNotFound for one that is gone, kHashMismatch for one
  /// that has changed since.
  Result<std::vector<ArtifactRecord>> Listed();

  /// The times of the last run, as StageTimeToJson writes them.
  [[nodiscard]] const Json& times() const { return times_; }
  /// The times that the manifest has of the variant whose publication brought the artifact at `path`, as
  /// StageTimeToJson writes them; none for a path that it does not list.
  [[nodiscard]] Json TimesOf(const RelPath& path) const;

  /// Checks that a zip can take the name `record.path`. The name omits the variant, and a zip of another
  /// variant must not be replaced by accident. Variants whose names differ only in the build number count as
  /// one. Errors: kAlreadyExists with a hint, kIo.
  Result<void> CheckZipPlace(const ArtifactRecord& record, const std::string& build_number);

  /// Makes all items appear under their names, and in the manifest; on an error, none of them. A file with
  /// the same bytes is left alone. A file with other bytes is replaced only if ptpkg made it, according to
  /// the manifest, and it has not changed since, or with kReplace. Only kReplace replaces a file of a sibling
  /// (record.siblings) or a zip of another variant. A replaced artifact's sidecar files
  /// (ArtifactRecord::IsSidecar) are removed with it, unless the items have new ones: they are about the old
  /// bytes. Waits while another process publishes here (support/files/lock_file.h). A failed cleanup
  /// afterwards is not an error, because the next run repeats it. Errors: kAlreadyExists with a hint (before
  /// anything is touched), kIo, kCancelled.
  Result<void> Publish(std::vector<PublishItem> items, ForeignFilePolicy on_foreign);

  /// Removes `path` and the files `beside` it, even if absent, also from the manifest. If the digest differs
  /// from `sha256`, all of them stay. Waits while another process publishes here. Errors: kIo, kCorrupt,
  /// kCancelled.
  Result<void> Remove(const RelPath& path, const std::string& sha256, const std::vector<RelPath>& beside);

  /// Replaces the stage times in manifest.json, and forgets artifacts that are gone. Errors: kIo.
  Result<void> WriteTimes(const std::vector<StageTime>& times);

 private:
  OutputFolder(Env& env, AbsPath root) : env_(&env), root_(std::move(root)) {}

  struct Move {
    AbsPath from;
    AbsPath to;
    AbsPath replaced;   ///< A second name of the file at `to`, until the publication is whole.
    bool goes = false;  ///< `to` is removed; there is no `from`.
    bool done = false;  ///< `to` is the new file, or gone.
  };

  /// Items that one call publishes.
  struct Batch {
    std::vector<PublishItem> items;
    std::vector<std::string> goes = {};  ///< Sidecar files of replaced artifacts.
  };

  [[nodiscard]] AbsPath JournalPath() const { return StagingRoot() / "publication.json"; }
  Result<void> ReadManifest();
  Result<void> WriteManifest();
  Result<std::unique_ptr<File>> Lock();
  Result<bool> IsPresent(const ArtifactRecord& record);
  Result<void> CheckPlace(const PublishItem& item, ForeignFilePolicy on_foreign);
  /// A file of the same bytes is left alone, and its twin in the staging directory too.
  Result<void> SkipIdenticalFiles(std::vector<PublishItem>& items);
  /// Paths of the sidecar files of artifacts that the items replace.
  Result<std::vector<std::string>> StaleSidecars(const std::vector<PublishItem>& items);
  Result<void> WriteJournal(const Batch& batch);
  [[nodiscard]] AbsPath IncomingRoot() const { return StagingRoot() / "incoming"; }
  /// Links or copies the files into IncomingRoot, which `items` name then.
  Result<void> StageFiles(std::vector<PublishItem>& items);
  Result<void> StageOneFile(const AbsPath& from, const AbsPath& to, std::uint32_t mode);
  /// The moves that are not done yet, in the order in which they are to be done.
  Result<std::vector<Move*>> PendingMoves(const Batch& batch, std::vector<Move>& moves);
  /// Does all moves that are due, then writes the manifest.
  Result<void> CommitMoves(const Batch& batch, std::vector<Move>& moves);
  Result<void> RecordNames(const Batch& batch);
  /// Under the lock: gives the names that a killed publication had not given yet, or rolls it back.
  Result<void> CompletePublication();
  Result<Batch> ReadJournal();
  Result<void> FinishPublication(const std::vector<Move>& moves);
  [[nodiscard]] std::vector<Move> MovesOf(const Batch& batch) const;
  /// True if all is as before; else the journal stays for the next run.
  bool UndoMoves(const std::vector<Move>& moves);

  Env* env_;
  AbsPath root_;
  std::map<std::string, ArtifactRecord> artifacts_;  // by path, as in the manifest
  Json times_ = Json::array();
};

}  // namespace ptpkg::publish
