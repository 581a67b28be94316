// Yanks and removes artifacts of a bucket. ptpkg edits the index first and deletes the files afterwards, the
// artifact last: without the artifact, nobody would look for the rest. ptpkg asks for the artifact's status
// before the first DELETE and again before the DELETE of the artifact. Meanwhile another run may have put
// another file under the name. At the end ptpkg edits the index once more, for a publication of the same file
// that ended in between.

#include "publish/s3/s3_store.h"

#include <fmt/core.h>

#include "publish/output/sidecar.h"
#include "publish/output/yank.h"
#include "publish/s3/aws_profile.h"
#include "publish/s3/s3_index.h"
#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

class S3Store final : public Store {
 public:
  explicit S3Store(std::unique_ptr<S3Bucket> bucket) : bucket_(std::move(bucket)) {}

  [[nodiscard]] std::string Title() const override { return bucket_->Title(); }
  [[nodiscard]] bool AcceptsFormat(ArtifactFormat format) const override {
    return format != ArtifactFormat::kZip;
  }
  [[nodiscard]] Result<void> Check(const Change& change) const override {
    PTPKG_CHECK(RequireNoBackend(change.artifact, Title()));
    return CheckIndexChange(change, Title());
  }

  [[nodiscard]] std::vector<std::string> Requests(const Change& change) const override {
    const std::string url = bucket_->FileUrl(S3PathOf(change.artifact));
    std::vector<std::string> lines = {"GET " + bucket_->ListUrl(), "HEAD " + url};
    const std::string page = "wheels/simple/" + change.artifact.package + "/";
    if (change.action == Action::kRemove) {
      for (const std::string& file : IndexFilesOf(change.artifact)) {
        const bool holds_it =
            file.starts_with("conda/" + change.artifact.subdir + "/") || file.starts_with(page);
        if (holds_it)
          lines.push_back("GET and PUT " + bucket_->FileUrl(file) + " (if it lists the artifact)");
      }
      for (const std::string& file : FilesOf(change)) lines.push_back("DELETE " + bucket_->FileUrl(file));
    } else {
      for (const char* name : {"index.json", "index.html", ""})
        lines.push_back("GET and PUT " + bucket_->FileUrl(page + name));
    }
    lines.push_back("HEAD " + url);
    return lines;
  }

  Result<void> LogIn() override {
    PTPKG_TRY(AwsKeys keys, FindAwsKeys(bucket_->env()));
    return bucket_->LogIn(std::move(keys));
  }

  Result<RemoteStatus> QueryStatus(const Change& change) override {
    const std::string path = S3PathOf(change.artifact);
    PTPKG_TRY(const HttpAnswer answer, bucket_->Send({.method = "HEAD", .url = bucket_->FileUrl(path)}));
    if (answer.status == 404) return RemoteStatus{.state = ChangeState::kAbsent};
    if (answer.status != 200) return bucket_->ErrorOf(answer, fmt::format("asked for '{}'", path));
    std::string sha256 = ToLower(HeaderOfAnswer(answer, "x-amz-meta-sha256"));
    if (sha256.empty()) {
      PTPKG_TRY(sha256, ReadBack(path));
    }
    RemoteStatus standing{.state = ChangeState::kToDo, .sha256 = std::move(sha256)};
    if (change.action == Action::kRemove) return standing;
    PTPKG_TRY(const std::optional<Json> page, ReadProjectPage(*bucket_, change.artifact));
    if (!page || !index::IsListed(*page, YankOf(change))) {
      return Error(ErrorCode::kNotFound, fmt::format("the index of {} does not list '{}'", Title(), path))
          .WithHint("publish it again: ptpkg sends no file twice, and completes the index");
    }
    if (index::IsYanked(*page, YankOf(change))) standing.state = ChangeState::kDone;
    return standing;
  }

  [[nodiscard]] bool HasIndex() const override { return true; }

  Result<void> Edit(const std::vector<Change>& changes) override {
    if (changes.front().action == Action::kRemove) removed_ = changes;
    return EditIndexes(*bucket_, changes);
  }

  Result<void> Make(const Change& change, const RemoteStatus& /*standing*/) override {
    if (change.action != Action::kRemove) return Ok();
    const std::vector<std::string> paths = FilesOf(change);
    for (const std::string& path : paths) {
      const bool is_artifact = path == paths.back();
      // The index took its time, and so did the files beside it: another run may have put another file there.
      if (is_artifact || path == paths.front()) {
        PTPKG_TRY(const RemoteStatus now, QueryStatus(change));
        if (now.state == ChangeState::kAbsent || now.sha256 != change.sha256) return Ok();
      }
      // Each file has tries of its own, except the artifact, for which the caller looks in between.
      const Repeat repeat = is_artifact ? Repeat::kOnce : Repeat::kSafe;
      PTPKG_TRY(const HttpAnswer answer,
                bucket_->Send({.method = "DELETE", .url = bucket_->FileUrl(path), .repeat = repeat}));
      if (answer.status / 100 != 2 && answer.status != 404)
        return bucket_->ErrorOf(answer, fmt::format("told to remove '{}'", path));
    }
    return Ok();
  }

  /// A publication of the same file that ended meanwhile has listed it again.
  Result<void> Finish() override { return EditIndexes(*bucket_, removed_); }

 private:
  /// Paths of an artifact's files, itself last: without it nobody would look for the rest.
  static std::vector<std::string> FilesOf(const Change& change) {
    std::vector<std::string> paths;
    for (const ArtifactId& beside : UsualSidecarIds(change.artifact)) paths.push_back(S3PathOf(beside));
    const std::string path = S3PathOf(change.artifact);
    if (change.artifact.format == ArtifactFormat::kWheel) paths.push_back(path + ".metadata");
    paths.push_back(path);
    return paths;
  }

  /// The digest of a file that another client has put there.
  Result<std::string> ReadBack(const std::string& path) {
    PTPKG_TRY(const HashedAnswer there, bucket_->Hash(path, UINT64_MAX));
    if (there.answer.status == 200) return there.sha256.Hex();
    return bucket_->ErrorOf(there.answer, fmt::format("reading back '{}'", path));
  }

  std::unique_ptr<S3Bucket> bucket_;
  std::vector<Change> removed_;
};

}  // namespace

Result<std::unique_ptr<Store>> MakeS3Store(Env& env, S3Place place) {
  PTPKG_TRY(std::unique_ptr<S3Bucket> bucket, S3Bucket::Make(env, std::move(place)));
  return std::unique_ptr<Store>(std::make_unique<S3Store>(std::move(bucket)));
}

}  // namespace ptpkg::publish
