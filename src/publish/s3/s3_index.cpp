// Updates the indexes of a bucket that several runs may write at the same time, without a lock.
//
// One loop for each index: read, add, write under a condition, write the files that are derived from it,
// and again until a round writes nothing. A refused write means that somebody else was faster, so the round
// starts from the new content. Whoever writes a derived file last has seen the index after it, so the last
// one fits. A lock object would outlive a killed run and stop all others
// (docs/decisions/0015-publishing.md).
//
// Order: run_exports.json before repodata.json, and metadata before pages, so that a client which finds a
// package finds its facts too. Removal takes the opposite order. Before a row is written, `confirm` checks
// that the bucket still has the file that the row describes.
//
// Stores without conditional writes: the pass is repeated after a pause, until it finds nothing to write.
// Stores that lose writes, or whose caches are behind, end the loop with an error that names the cause.

#include "publish/s3/s3_index.h"

#include <algorithm>
#include <chrono>
#include <fmt/core.h>
#include <functional>
#include <map>
#include <set>

#include "index/conda_channel/conda_documents.h"
#include "index/conda_channel/current_repodata.h"
#include "index/conda_channel/patch_instructions.h"
#include "index/conda_channel/shards.h"
#include "index/index_files.h"
#include "index/simple_index/simple_index_pages.h"
#include "publish/output/output_folder.h"
#include "publish/output/yank.h"
#include "publish/s3/s3_object.h"
#include "support/reporter.h"
#include "support/text/json.h"

namespace ptpkg::publish {
namespace {

constexpr const char* kJsonType = "application/json";
constexpr const char* kTextType = "text/plain; charset=utf-8";
constexpr const char* kHtmlType = "text/html; charset=utf-8";
constexpr const char* kSimpleJsonType = "application/vnd.pypi.simple.v1+json";
constexpr int kRounds = 40;  // a round is lost only if another publisher made progress
constexpr int kLongestPause = 5;
constexpr int kMostLost = 5;  // a store may be behind for a while
/// Longer than anybody is between reading an index and writing it.
constexpr std::chrono::milliseconds kSettlingTime{2000};

/// A file that is derived from an index.
struct DerivedFile {
  std::string path;
  std::string type;
  std::string text;
};

/// An index that several runs write to.
struct SharedIndex {
  std::string path = {};
  std::string type = {};
  Json empty = {};                              ///< Initial content, before the first run.
  std::function<Result<void>(Json&)> add = {};  ///< Adds what this run has, or takes it away.
  std::function<std::string(const Json&)> text_of = {};
  /// All files made of it. May be empty.
  std::function<Result<std::vector<DerivedFile>>(const Json& index, const std::string& text)> derive = {};
  bool only_if_there = false;  ///< A removal needs no index if none exists.
  /// Fails where a row that is added is about another file than the bucket's. May be empty.
  std::function<Result<void>()> confirm = {};
};

Error KeepsNothing(const S3Bucket& bucket, const std::string& path) {
  return Error(ErrorCode::kNetwork, fmt::format("{} confirmed the upload of '{}', but does not have the file",
                                                bucket.Title(), path))
      .WithHint("check for a cache or proxy in between, and publish again: existing files stay");
}

class IndexWriter {
 public:
  explicit IndexWriter(S3Bucket& bucket) : bucket_(bucket) {}

  /// Carries out `pass`, which completes indexes with this writer. In a store without conditional writes
  /// somebody who has read an index before may write it after, without the rows of this run, who then sees
  /// nothing of it: so the pass is repeated after a while, until it finds nothing to write.
  Result<void> UntilSettled(const std::function<Result<void>()>& pass) {
    for (int round = 1; round <= kRounds; ++round) {
      wrote_ = false;
      PTPKG_CHECK(pass());
      if (!wrote_) return Ok();
      PTPKG_CHECK(bucket_.ProbeConditions());
      if (bucket_.HonoursConditions()) return Ok();
      PTPKG_CHECK(SleepUnlessCancelled(bucket_.env().clock, kSettlingTime, bucket_.env().cancel));
    }
    return OthersKeepChanging("the indexes");
  }

  Result<void> Complete(const SharedIndex& index) {
    int outrun = 0;
    refused_.reset();
    refusals_ = 0;
    last_write_ = {};
    lost_ = 0;
    for (int round = 1; round <= kRounds; ++round) {
      PTPKG_TRY(const Outcome outcome, Round(index), fmt::format("while completing '{}'", index.path));
      if (outcome == Outcome::kNothingToWrite) return Ok();
      wrote_ = true;
      if (lost_ == kMostLost) return KeepsNothing(bucket_, last_write_.first);
      // After a write of our own the next round follows at once, to see whether it stayed.
      if (outcome == Outcome::kWritten && lost_ == 0) continue;
      outrun = std::min(outrun + 1, kLongestPause);
      PTPKG_CHECK(WaitBeforeRetry(bucket_.env().clock, outrun + 1, bucket_.env().cancel));
    }
    return OthersKeepChanging(fmt::format("'{}'", index.path));
  }

 private:
  enum class Outcome : std::uint8_t {
    kNothingToWrite,
    kWritten,
    kOutrun,  ///< Somebody else has written the index since it was read.
  };

  Result<Outcome> Round(const SharedIndex& index) {
    PTPKG_TRY(std::optional<S3Object> there, bucket_.ReadListed(index.path));
    if (!there && index.only_if_there) return Outcome::kNothingToWrite;
    Json document = index.empty;
    if (there) {
      PTPKG_TRY(document, Parsed(*there, index.path));
    }
    // Rows that exist change nothing: then the index keeps its bytes, and nothing is written.
    const Json before = document;
    PTPKG_CHECK(Added(index, document));
    const bool changes = !there || document != before;
    // An unchanged document keeps its bytes, whoever wrote it.
    const std::string text = changes ? index.text_of(document) : std::move(there->text);
    if (changes) {
      PTPKG_CHECK(bucket_.ProbeConditions());
      // Between reading and writing: whoever puts another file there writes the index after it.
      if (index.confirm) PTPKG_CHECK(index.confirm());
      const S3Condition condition{.nothing = !there, .etag = there ? there->etag : ""};
      const Result<void> written = bucket_.Write(index.path, index.type, text, condition);
      // 404: somebody has removed it since.
      const bool outrun = !written && (written.error().code() == ErrorCode::kAlreadyExists ||
                                       (there && written.error().code() == ErrorCode::kNotFound));
      if (outrun) {
        PTPKG_CHECK(NoteRefusal(index.path, there ? there->etag : ""));
        return Outcome::kOutrun;
      }
      PTPKG_CHECK(written);
    }
    // Derived files are compared in every round, since another run may have written older ones after us.
    std::vector<std::string> written;
    if (changes) written.push_back(index.path);
    PTPKG_TRY(const std::vector<DerivedFile> derived, index.derive(document, text));
    for (const DerivedFile& file : derived) {
      PTPKG_TRY(const bool other, bucket_.WriteIfOther(file.path, file.type, file.text));
      if (other) written.push_back(file.path);
    }
    if (written.empty()) return Outcome::kNothingToWrite;
    NoteWrite(written.front(), there ? there->etag : "");
    return Outcome::kWritten;
  }

  void NoteWrite(const std::string& path, const std::string& replaced) {
    const std::pair write(path, replaced);
    lost_ = write == last_write_ ? lost_ + 1 : 0;
    last_write_ = write;
  }

  /// A store whose ETags fulfil no condition, such as weak ones, refuses a write although nobody else has
  /// changed the file. Behind a cache that gives an old index, the store refuses rightly. Errors: kNetwork
  /// for such a cache, and any error of reading the list.
  Result<void> NoteRefusal(const std::string& path, const std::string& etag) {
    constexpr int kEnough = 3;
    refusals_ = refused_ == etag ? refusals_ + 1 : 1;
    refused_ = etag;
    if (refusals_ < kEnough) return Ok();
    PTPKG_TRY(const std::optional<std::string> listed, bucket_.ListedEtag(path));
    const bool is_behind = listed && !listed->empty() && !etag.empty() && *listed != BareEtag(etag);
    if (is_behind && bucket_.HonoursConditions()) {
      return Error(ErrorCode::kNetwork, fmt::format("{} gives an old '{}', with the ETag {}, but lists a "
                                                    "newer one: there is a cache in between",
                                                    bucket_.Title(), path, etag))
          .WithHint(
              "publish again when the cache has expired, or name the store itself with --server: nothing was "
              "overwritten");
    }
    bucket_.GiveUpConditions();
    return Ok();
  }

  [[nodiscard]] Error OthersKeepChanging(const std::string& what) const {
    return Error(ErrorCode::kNetwork,
                 fmt::format("other programs keep changing {} of {}", what, bucket_.Title()))
        .WithHint("publish again: ptpkg sends no file twice, and completes the index");
  }

  [[nodiscard]] Error NoIndex(const std::string& path, const Error& why) const {
    return Error(ErrorCode::kRefused,
                 fmt::format("'{}' of {} is not an index: {}", path, bucket_.Title(), why.message()))
        .WithHint("ptpkg did not change it: publish to another prefix, or repair it");
  }

  [[nodiscard]] Result<Json> Parsed(const S3Object& object, const std::string& path) const {
    auto parsed = ParseJson(object.text, path);
    if (!parsed) return NoIndex(path, parsed.error());
    if (!parsed->is_object()) return NoIndex(path, Error(ErrorCode::kInvalidInput, "no object"));
    return parsed;
  }

  [[nodiscard]] Result<void> Added(const SharedIndex& index, Json& document) const {
    const Result<void> added = index.add(document);
    return added ? Ok() : Result<void>(NoIndex(index.path, added.error()));
  }

  S3Bucket& bucket_;
  bool wrote_ = false;                              // in this pass
  std::optional<std::string> refused_;              // ETag for which a write was refused; "": no file
  int refusals_ = 0;                                // in a row, for that one
  std::pair<std::string, std::string> last_write_;  // path, and the ETag of the index as it was read
  int lost_ = 0;                                    // how often in a row that write was to be done again
};

Result<std::vector<DerivedFile>> Nothing(const Json& /*index*/, const std::string& /*text*/) {
  return std::vector<DerivedFile>();
}

using DocumentEdit = std::function<Result<void>(Json&)>;

SharedIndex RunExportsOf(const std::string& subdir, DocumentEdit edit) {
  return {.path = fmt::format("conda/{}/run_exports.json", subdir),
          .type = kJsonType,
          .empty = index::EmptyRunExports(subdir),
          .add = std::move(edit),
          .text_of = index::CompactJson,
          .derive = Nothing};
}

SharedIndex RepodataOf(const std::string& subdir, DocumentEdit edit) {
  const std::string path = fmt::format("conda/{}/repodata.json", subdir);
  return {.path = path,
          .type = kJsonType,
          .empty = index::EmptyRepodata(subdir),
          .add = std::move(edit),
          .text_of = index::CompactJson,
          .derive = [path](const Json&, const std::string& text) -> Result<std::vector<DerivedFile>> {
            PTPKG_TRY(std::string packed, index::ZstOf(text));
            return std::vector{
                DerivedFile{.path = path + ".zst", .type = "application/zstd", .text = std::move(packed)}};
          }};
}

/// An index.json with its page for people, and for pip: a store gives a page for ".../simple/toy/" only if
/// there is a file of that very name.
SharedIndex PageIndex(const std::string& folder, Json empty, std::function<Result<void>(Json&)> add,
                      std::string (*html_of)(const Json&)) {
  return {
      .path = folder + "/index.json",
      .type = kSimpleJsonType,
      .empty = std::move(empty),
      .add = std::move(add),
      .text_of = DumpJson,
      .derive = [folder, html_of](const Json& index, const std::string&) -> Result<std::vector<DerivedFile>> {
        const std::string html = html_of(index);
        return std::vector{DerivedFile{.path = folder + "/index.html", .type = kHtmlType, .text = html},
                           DerivedFile{.path = folder + "/", .type = kHtmlType, .text = html}};
      }};
}

SharedIndex ProjectOf(const std::string& project, DocumentEdit edit) {
  return PageIndex("wheels/simple/" + project, index::EmptyProjectPage(project), std::move(edit),
                   index::ProjectHtml);
}

SharedIndex RootOf(const std::vector<std::string>& projects) {
  return PageIndex(
      "wheels/simple", index::EmptyRootPage(),
      [&projects](Json& page) { return index::AddToRootPage(page, projects); }, index::RootHtml);
}

struct SubdirRows {
  index::CondaRecords records = {};
  std::vector<const Upload*> uploads = {};
};
/// By subdir; noarch always, which conda's clients ask for in every channel.
using Subdirs = std::map<std::string, SubdirRows>;

std::function<Result<void>()> ConfirmAll(const std::vector<const Upload*>& uploads,
                                         const ConfirmUpload& confirm) {
  return [&uploads, &confirm]() -> Result<void> {
    for (const Upload* upload : uploads) PTPKG_CHECK(confirm(*upload));
    return Ok();
  };
}

Result<Subdirs> SubdirsOf(Env& env, const std::vector<const Upload*>& uploads) {
  Subdirs subdirs;
  for (const Upload* upload : uploads) {
    if (!upload->conda || !upload->beside.empty()) continue;
    const std::string& subdir = upload->conda->subdir;
    PTPKG_TRY(index::CondaRecord record, index::ReadCondaRecord(env, upload->file, subdir, upload->digests));
    if (record.size_bytes != upload->digests.size_bytes) return ChangedWhilePublished(*upload);
    subdirs[subdir].records.emplace(upload->Name(), std::move(record));
    subdirs[subdir].uploads.push_back(upload);
  }
  if (!subdirs.empty()) subdirs["noarch"];
  return subdirs;
}

Result<void> CompleteSubdirs(IndexWriter& writer, const Subdirs& subdirs, const ConfirmUpload& confirm) {
  for (const auto& [subdir, rows] : subdirs) {
    // First: who finds a package in the one finds it in the other.
    const index::CondaRecords& added = rows.records;
    PTPKG_CHECK(writer.Complete(
        RunExportsOf(subdir, [&added](Json& index) { return index::AddToRunExports(index, added); })));
    SharedIndex repodata =
        RepodataOf(subdir, [&added](Json& index) { return index::AddToRepodata(index, added); });
    repodata.confirm = ConfirmAll(rows.uploads, confirm);
    PTPKG_CHECK(writer.Complete(repodata));
  }
  return Ok();
}

struct ProjectRows {
  std::vector<index::IndexedWheel> wheels = {};
  std::vector<const Upload*> uploads = {};  ///< Uploads of these wheels, in this order.
};
using Projects = std::map<std::string, ProjectRows>;

/// Until the store says that it has the text.
Result<void> WriteAndConfirm(S3Bucket& bucket, const std::string& path, const std::string& text) {
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    PTPKG_TRY(const bool written, bucket.WriteIfOther(path, kTextType, text));
    if (!written) return Ok();
    if (attempt > 1) PTPKG_CHECK(WaitBeforeRetry(bucket.env().clock, attempt, bucket.env().cancel));
  }
  return KeepsNothing(bucket, path);
}

/// The rows of the wheels, by project; the .metadata files that they promise are there from now on.
Result<Projects> ProjectsOf(S3Bucket& bucket, const std::vector<const Upload*>& uploads) {
  Projects projects;
  for (const Upload* upload : uploads) {
    if (!upload->wheel) continue;
    PTPKG_TRY(index::IndexedWheel wheel,
              index::DescribeWheel(*upload->wheel, upload->Name(), upload->digests.size_bytes));
    wheel.sha256 = upload->digests.sha256;
    PTPKG_CHECK(WriteAndConfirm(bucket, S3PathOf(*upload) + ".metadata", upload->wheel->metadata_text));
    ProjectRows& rows = projects[wheel.project];
    rows.wheels.push_back(std::move(wheel));
    rows.uploads.push_back(upload);
  }
  return projects;
}

/// The .metadata files of the wheels that a page lists: another run with a wheel of the same name may have
/// written its own.
std::vector<DerivedFile> MetadataFiles(const Json& page, const ProjectRows& rows) {
  std::vector<DerivedFile> files;
  for (const Upload* upload : rows.uploads) {
    if (index::DigestInPage(page, upload->Name()) != upload->digests.sha256.Hex()) continue;
    files.push_back(
        {.path = S3PathOf(*upload) + ".metadata", .type = kTextType, .text = upload->wheel->metadata_text});
  }
  return files;
}

Result<void> CompletePages(IndexWriter& writer, const Projects& projects, const ConfirmUpload& confirm) {
  if (projects.empty()) return Ok();
  std::vector<std::string> names;
  for (const auto& [project, rows] : projects) {
    const ProjectRows& added = rows;
    SharedIndex page =
        ProjectOf(project, [&added](Json& json) { return index::AddToProjectPage(json, added.wheels); });
    page.confirm = ConfirmAll(rows.uploads, confirm);
    page.derive = [&added, pages = page.derive](const Json& json,
                                                const std::string& text) -> Result<std::vector<DerivedFile>> {
      PTPKG_TRY(std::vector<DerivedFile> files, pages(json, text));
      std::ranges::move(MetadataFiles(json, added), std::back_inserter(files));
      return files;
    };
    PTPKG_CHECK(writer.Complete(page));
    names.push_back(project);
  }
  return writer.Complete(RootOf(names));
}

Result<void> CompleteIfThere(IndexWriter& writer, SharedIndex index) {
  index.only_if_there = true;
  return writer.Complete(index);
}

/// Digests of the files of the changes by name, by subdir and by project.
struct Grouped {
  std::map<std::string, std::map<std::string, std::string>> subdirs = {};
  std::map<std::string, std::map<std::string, std::string>> projects = {};
};

Result<void> RemoveFromIndexes(IndexWriter& writer, const std::vector<Change>& changes) {
  Grouped gone;
  for (const Change& change : changes) {
    const ArtifactId& artifact = change.artifact;
    const bool wheel = artifact.format == ArtifactFormat::kWheel;
    auto& group = wheel ? gone.projects[artifact.package] : gone.subdirs[artifact.subdir];
    group[artifact.file_name] = change.sha256;
  }
  for (const auto& [subdir, digests] : gone.subdirs) {
    const std::map<std::string, std::string>& files = digests;
    const DocumentEdit edit = [&files](Json& index) { return index::RemoveRows(index, files); };
    // First: who finds a package in the one finds it in the other.
    PTPKG_CHECK(CompleteIfThere(writer, RepodataOf(subdir, edit)));
    PTPKG_CHECK(CompleteIfThere(writer, RunExportsOf(subdir, edit)));
  }
  for (const auto& [project, digests] : gone.projects) {
    const std::map<std::string, std::string>& files = digests;
    PTPKG_CHECK(CompleteIfThere(writer, ProjectOf(project, [&files](Json& page) {
                                  return index::RemoveFromProjectPage(page, files);
                                })));
  }
  return Ok();
}

Result<void> SetYanked(IndexWriter& writer, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    const index::Yank yank = YankOf(change);
    PTPKG_CHECK(CompleteIfThere(
        writer, ProjectOf(yank.project, [&yank](Json& page) { return index::SetYanked(page, yank); })));
  }
  return Ok();
}

}  // namespace

std::string S3PathOf(const ArtifactId& artifact) {
  return OutputFolder::PlaceOf(artifact.format, artifact.subdir, artifact.file_name).str();
}

std::string S3PathOf(const Upload& upload) { return S3PathOf(upload.Id()); }

std::vector<std::string> RefusedFilesOf(const std::string& subdir) {
  std::vector<std::string> paths;
  for (const std::string_view name : {index::kPatchFile, index::kCurrentRepodata, index::kShardIndex})
    paths.push_back(fmt::format("conda/{}/{}", subdir, name));
  return paths;
}

Result<void> RequirePlainSubdir(S3Bucket& bucket, const std::string& subdir) {
  for (const std::string& path : RefusedFilesOf(subdir)) {
    PTPKG_TRY(const HttpAnswer answer, bucket.Send({.method = "HEAD", .url = bucket.FileUrl(path)}));
    if (answer.status == 404) continue;
    if (answer.status != 200) return bucket.ErrorOf(answer, fmt::format("asked for '{}'", path));
    return Error(ErrorCode::kRefused,
                 fmt::format("{} has '{}', which ptpkg does not update in a bucket", bucket.Title(), path))
        .WithHint(
            "publish to a directory with the whole channel (--to file://DIR) and upload that, or delete the "
            "file from the bucket");
  }
  return Ok();
}

Result<void> EditIndexes(S3Bucket& bucket, const std::vector<Change>& changes) {
  if (changes.empty()) return Ok();
  std::set<std::string> subdirs;
  for (const Change& change : changes) {
    if (change.artifact.format != ArtifactFormat::kWheel) subdirs.insert(change.artifact.subdir);
  }
  for (const std::string& subdir : subdirs) PTPKG_CHECK(RequirePlainSubdir(bucket, subdir));
  Task task(bucket.env().reporter, {.stage = "index", .subject = bucket.place().bucket});
  const bool remove = changes.front().action == Action::kRemove;
  IndexWriter writer(bucket);
  PTPKG_CHECK(writer.UntilSettled(
      [&] { return remove ? RemoveFromIndexes(writer, changes) : SetYanked(writer, changes); }));
  task.Done();
  return Ok();
}

Result<std::optional<Json>> ReadProjectPage(S3Bucket& bucket, const ArtifactId& wheel) {
  const std::string path = fmt::format("wheels/simple/{}/index.json", wheel.package);
  PTPKG_TRY(const std::optional<S3Object> there, bucket.ReadListed(path));
  if (!there) return std::optional<Json>();
  auto page = ParseJson(there->text, path);
  if (page && page->is_object()) return std::optional(*std::move(page));
  return Error(ErrorCode::kRefused, fmt::format("'{}' of {} is not an index", path, bucket.Title()))
      .WithHint("ptpkg did not change it: repair it");
}

Result<void> CompleteIndexes(S3Bucket& bucket, const std::vector<const Upload*>& uploads,
                             const ConfirmUpload& confirm) {
  Task task(bucket.env().reporter, {.stage = "index", .subject = bucket.place().bucket});
  PTPKG_TRY(const Subdirs subdirs, SubdirsOf(bucket.env(), uploads));
  PTPKG_TRY(const Projects projects, ProjectsOf(bucket, uploads));
  IndexWriter writer(bucket);
  PTPKG_CHECK(writer.UntilSettled([&]() -> Result<void> {
    PTPKG_CHECK(CompleteSubdirs(writer, subdirs, confirm));
    return CompletePages(writer, projects, confirm);
  }));
  task.Done();
  return Ok();
}

std::vector<std::string> IndexFilesOf(const ArtifactId& artifact) {
  std::vector<std::string> files;
  if (artifact.format != ArtifactFormat::kWheel) {
    for (const std::string& subdir : std::set<std::string>{artifact.subdir, "noarch"}) {
      for (const char* name : {"run_exports.json", "repodata.json", "repodata.json.zst"})
        files.push_back(fmt::format("conda/{}/{}", subdir, name));
    }
    return files;
  }
  files.push_back(S3PathOf(artifact) + ".metadata");
  for (const std::string& folder : {"wheels/simple/" + artifact.package, std::string("wheels/simple")}) {
    for (const char* name : {"index.json", "index.html", ""})
      files.push_back(fmt::format("{}/{}", folder, name));
  }
  return files;
}

}  // namespace ptpkg::publish
