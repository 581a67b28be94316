// Publishes to a bucket: one PUT for each file, then the indexes.
//
// A new file is written under If-None-Match, so that two runs with the same name cannot both succeed. The
// ETag of each write is remembered, which answers later questions about the content even if it is not an
// MD5. Files that other clients uploaded without a digest are read back and hashed.
//
// After a replacement, sidecar files of the old file are removed before the index is completed, or they
// would vouch for other bytes. A key that may not delete only costs a warning.

#include "publish/s3/s3_remote.h"

#include <fmt/core.h>
#include <map>
#include <mutex>
#include <set>

#include "publish/output/sidecar.h"
#include "publish/s3/aws_profile.h"
#include "publish/s3/s3_index.h"
#include "publish/s3/s3_object.h"
#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

constexpr std::uint64_t kMostBytesOfPut = std::uint64_t{5}
                                          << 30U;  // Amazon S3 User Guide, "Uploading objects"

class S3Remote final : public Remote {
 public:
  explicit S3Remote(std::unique_ptr<S3Bucket> bucket) : bucket_(std::move(bucket)) {}

  [[nodiscard]] std::string Title() const override { return bucket_->Title(); }
  [[nodiscard]] std::string ProfileName() const override { return ""; }
  [[nodiscard]] bool AcceptsFormat(ArtifactFormat format) const override {
    return format != ArtifactFormat::kZip;
  }
  [[nodiscard]] bool AcceptsSidecars() const override { return true; }
  [[nodiscard]] Result<void> CheckRules(const Upload& upload) const override {
    PTPKG_CHECK(RefuseVariantWheel(upload));
    const std::uint64_t bytes = upload.digests.size_bytes;
    if (bytes <= kMostBytesOfPut) return Ok();
    return Error(ErrorCode::kRefused,
                 fmt::format("'{}' is too large for S3: it has {}, and one PUT takes {}", upload.Name(),
                             HumanBytes(bytes), HumanBytes(kMostBytesOfPut)))
        .WithHint(
            "slice it by GPU (ptpkg slice), or upload it with another client (aws s3 cp) and publish again");
  }

  [[nodiscard]] std::vector<std::string> Requests(const Upload& upload, bool replace) const override {
    const std::string url = Url(upload);
    const std::string condition = replace ? " (replaces a different file)" : " (if nothing is there)";
    std::vector<std::string> lines = {"GET " + bucket_->ListUrl(), "HEAD " + url};
    lines.push_back("PUT " + url + condition);
    lines.push_back("HEAD " + url);
    if (!upload.beside.empty()) return lines;
    if (upload.conda) {
      for (const std::string& file : RefusedFilesOf(upload.conda->subdir))
        lines.push_back("HEAD " + bucket_->FileUrl(file) + " (must not exist)");
    }
    lines.push_back("PUT " + bucket_->FileUrl(kConditionsFile) +
                    " (expected to fail: a probe for conditional writes)");
    for (const std::string& file : IndexFilesOf(upload.Id()))
      lines.push_back("GET and PUT " + bucket_->FileUrl(file) + " (if it lacks the artifact)");
    return lines;
  }

  Result<void> LogIn() override {
    PTPKG_TRY(AwsKeys keys, FindAwsKeys(bucket_->env()));
    return bucket_->LogIn(std::move(keys));
  }

  Result<std::optional<RemoteFile>> Find(const Upload& upload) override {
    if (upload.conda) PTPKG_CHECK(RequirePlain(upload.conda->subdir));
    PTPKG_TRY(const HttpAnswer answer, bucket_->Send({.method = "HEAD", .url = Url(upload)}));
    if (answer.status == 404) return std::optional<RemoteFile>();
    if (answer.status != 200)
      return bucket_->ErrorOf(answer, fmt::format("asked for '{}'", S3PathOf(upload)));
    const ObjectContent content =
        JudgeObject(answer, {.file = upload.digests, .written_etag = WrittenEtag(S3PathOf(upload))});
    if (content == ObjectContent::kSame)
      return std::optional(RemoteFile{.sha256 = upload.digests.sha256.Hex()});
    if (content == ObjectContent::kUnknown) return ReadBack(upload, HeaderOfAnswer(answer, "etag"));
    // The digest that a client gave for another file is reported, unless it is wrong.
    const std::string told = ToLower(HeaderOfAnswer(answer, "x-amz-meta-sha256"));
    if (!told.empty() && told != upload.digests.sha256.Hex())
      return std::optional(RemoteFile{.sha256 = told});
    return std::optional(
        RemoteFile{.sha256 = "", .words = HeaderOfAnswer(answer, "content-length") + " bytes"});
  }

  Result<void> Send(const Upload& upload, bool replace,
                    const std::function<void(std::uint64_t)>& on_sent) override {
    const std::string path = S3PathOf(upload);
    if (replace && upload.beside.empty()) {
      const std::lock_guard lock(mutex_);
      replaced_.push_back(upload.Id());
    }
    const S3Condition condition{.nothing = !replace};
    PTPKG_TRY(const HttpAnswer answer,
              bucket_->SendIf({.method = "PUT",
                               .url = bucket_->FileUrl(path),
                               .headers = {{"Content-Type", "application/octet-stream"},
                                           {"Content-MD5", Md5Header(upload.digests)},
                                           {"x-amz-content-sha256", upload.digests.sha256.Hex()},
                                           {"x-amz-meta-sha256", upload.digests.sha256.Hex()}},
                               .body = {.file = upload.file, .file_bytes = upload.digests.size_bytes},
                               .repeat = Repeat::kOnce,
                               .on_sent = on_sent},
                              condition));
    if (answer.status != 200) return bucket_->ErrorOf(answer, fmt::format("given '{}'", path));
    const std::lock_guard lock(mutex_);
    written_etags_[path] = HeaderOfAnswer(answer, "etag");
    return Ok();
  }

  Result<void> Finish(const std::vector<const Upload*>& there) override {
    PTPKG_CHECK(RemoveWhatIsAboutOthers(there));
    return CompleteIndexes(*bucket_, there, [this](const Upload& upload) -> Result<void> {
      PTPKG_TRY(const std::optional<RemoteFile> found, Find(upload));
      if (found && found->sha256 == upload.digests.sha256.Hex()) return Ok();
      return Error(
                 ErrorCode::kRefused,
                 fmt::format("another run has replaced or removed '{}' since it was sent", S3PathOf(upload)))
          .WithHint("publish again with --force to restore your file");
    });
  }

 private:
  /// RequirePlainSubdir, once for each subdir that passes.
  Result<void> RequirePlain(const std::string& subdir) {
    {
      const std::lock_guard lock(mutex_);
      if (plain_subdirs_.contains(subdir)) return Ok();
    }
    PTPKG_CHECK(RequirePlainSubdir(*bucket_, subdir));
    const std::lock_guard lock(mutex_);
    plain_subdirs_.insert(subdir);
    return Ok();
  }

  /// Statements and signatures of the files that were replaced, unless this run has brought new ones.
  Result<void> RemoveWhatIsAboutOthers(const std::vector<const Upload*>& there) {
    std::set<std::string> brought;
    for (const Upload* upload : there) brought.insert(S3PathOf(*upload));
    for (const ArtifactId& artifact : replaced_) {
      for (const ArtifactId& beside : UsualSidecarIds(artifact)) {
        const std::string path = S3PathOf(beside);
        if (brought.contains(path)) continue;
        PTPKG_TRY(const HttpAnswer answer,
                  bucket_->Send({.method = "DELETE", .url = bucket_->FileUrl(path)}));
        if (answer.status / 100 == 2 || answer.status == 404) continue;
        const Error error = bucket_->ErrorOf(answer, fmt::format("removing '{}'", path));
        if (answer.status != 403) return error;
        // A key that may write need not be one that may remove.
        bucket_->env().reporter.Warn(
            fmt::format("sidecar files of '{}' still belong to the replaced file: {}", S3PathOf(artifact),
                        error.message()));
        break;
      }
    }
    return Ok();
  }

  [[nodiscard]] std::string Url(const Upload& upload) const { return bucket_->FileUrl(S3PathOf(upload)); }

  std::string WrittenEtag(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const auto found = written_etags_.find(path);
    return found == written_etags_.end() ? "" : found->second;
  }

  /// The digest of a file of the same size that another client has put there.
  Result<std::optional<RemoteFile>> ReadBack(const Upload& upload, const std::string& etag) {
    PTPKG_TRY(const HashedAnswer there, bucket_->Hash(S3PathOf(upload), upload.digests.size_bytes));
    if (there.answer.status == 200) {
      // Find runs again before each write of an index.
      if (there.sha256 == upload.digests.sha256) {
        const std::lock_guard lock(mutex_);
        written_etags_[S3PathOf(upload)] = etag;
      }
      return std::optional(RemoteFile{.sha256 = there.sha256.Hex()});
    }
    if (there.answer.status == 404) return std::optional<RemoteFile>();
    return bucket_->ErrorOf(there.answer, fmt::format("reading back '{}'", S3PathOf(upload)));
  }

  std::unique_ptr<S3Bucket> bucket_;
  std::mutex mutex_;
  std::set<std::string> plain_subdirs_;               // under mutex_
  std::vector<ArtifactId> replaced_;                  // under mutex_ while files are sent
  std::map<std::string, std::string> written_etags_;  // or found to be ours; by path, and so the next
};

}  // namespace

Result<std::unique_ptr<Remote>> MakeS3(Env& env, S3Place place) {
  PTPKG_TRY(std::unique_ptr<S3Bucket> bucket, S3Bucket::Make(env, std::move(place)));
  return std::unique_ptr<Remote>(std::make_unique<S3Remote>(std::move(bucket)));
}

}  // namespace ptpkg::publish
