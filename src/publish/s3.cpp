#include "publish/s3.h"

#include <fmt/core.h>
#include <mutex>
#include <set>

#include "publish/aws_profile.h"
#include "publish/beside.h"
#include "publish/s3_index.h"
#include "publish/s3_multipart.h"
#include "support/text.h"

namespace ptpkg::publish {
namespace {

class S3Remote final : public Remote {
 public:
  explicit S3Remote(std::unique_ptr<S3Bucket> bucket) : bucket_(std::move(bucket)), multipart_(*bucket_) {}

  [[nodiscard]] std::string Title() const override { return bucket_->Title(); }
  [[nodiscard]] std::string ProfileName() const override { return ""; }
  [[nodiscard]] bool Takes(ArtifactFormat format) const override { return format != ArtifactFormat::kZip; }
  [[nodiscard]] bool TakesFilesBeside() const override { return true; }
  [[nodiscard]] Result<void> CheckRules(const Upload& upload) const override {
    return RefuseVariantWheel(upload);
  }

  [[nodiscard]] std::vector<std::string> Requests(const Upload& upload, bool replace) const override {
    const std::string url = Url(upload);
    const std::string condition = replace ? " (if another file is there, it goes)" : " (if nothing is there)";
    std::vector<std::string> lines = {"GET " + bucket_->ListUrl(), "HEAD " + url};
    if (IsSmall(upload)) {
      lines.push_back("PUT " + url + condition);
    } else {
      const PartLayout layout = LayoutOf(upload.digests);
      lines.push_back("GET " + bucket_->BucketUrl("uploads"));
      lines.push_back("POST " + url + "?uploads");
      lines.push_back(fmt::format("PUT {}?partNumber=… ({} parts of {})", url, layout.parts,
                                  HumanBytes(layout.part_bytes)));
      lines.push_back("POST " + url + "?uploadId=…" + condition);
    }
    lines.push_back("HEAD " + url);
    if (!upload.beside.empty()) return lines;
    for (const std::string& file : IndexFilesOf(upload.Id()))
      lines.push_back("GET and PUT " + bucket_->FileUrl(file) + " (if it lacks the artifact)");
    return lines;
  }

  Result<void> LogIn() override {
    PTPKG_TRY(AwsKeys keys, FindAwsKeys(bucket_->env()));
    return bucket_->LogIn(std::move(keys));
  }

  Result<std::optional<RemoteFile>> Find(const Upload& upload) override {
    PTPKG_TRY(const HttpAnswer answer, bucket_->Send({.method = "HEAD", .url = Url(upload)}));
    if (answer.status == 404) return std::optional<RemoteFile>();
    if (answer.status != 200)
      return bucket_->ErrorOf(answer, fmt::format("asked for '{}'", S3PathOf(upload)));
    const std::string size = HeaderOfAnswer(answer, "content-length");
    const bool other_size = !size.empty() && size != std::to_string(upload.digests.size_bytes);
    const std::string told = ToLower(HeaderOfAnswer(answer, "x-amz-meta-sha256"));
    const bool lies = other_size && told == upload.digests.sha256.Hex();
    if (!told.empty() && !lies) return std::optional(RemoteFile{.sha256 = told});
    if (other_size) return std::optional(RemoteFile{.sha256 = "", .words = size + " bytes"});
    return ReadBack(upload);
  }

  Result<void> Send(const Upload& upload, bool replace,
                    const std::function<void(std::uint64_t)>& on_sent) override {
    const std::string path = S3PathOf(upload);
    if (replace && upload.beside.empty()) {
      const std::lock_guard lock(mutex_);
      replaced_.push_back(upload.Id());
    }
    const S3Condition condition{.nothing = !replace};
    if (!IsSmall(upload)) return multipart_.Send(upload, path, condition, on_sent);
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
    if (answer.status == 200) return Ok();
    return bucket_->ErrorOf(answer, fmt::format("given '{}'", path));
  }

  Result<void> Finish(const std::vector<const Upload*>& there) override {
    PTPKG_CHECK(RemoveWhatIsAboutOthers(there));
    return CompleteIndexes(*bucket_, there);
  }

 private:
  /// Statements and signatures of the files that were replaced, unless this run has brought new ones.
  Result<void> RemoveWhatIsAboutOthers(const std::vector<const Upload*>& there) {
    std::set<std::string> brought;
    for (const Upload* upload : there) brought.insert(S3PathOf(*upload));
    for (const ArtifactId& artifact : replaced_) {
      for (const ArtifactId& beside : UsualIdsBeside(artifact)) {
        const std::string path = S3PathOf(beside);
        if (brought.contains(path)) continue;
        PTPKG_TRY(const HttpAnswer answer,
                  bucket_->Send({.method = "DELETE", .url = bucket_->FileUrl(path)}));
        if (answer.status / 100 == 2 || answer.status == 404) continue;
        const Error error = bucket_->ErrorOf(answer, fmt::format("told to remove '{}'", path));
        if (answer.status != 403) return error;
        // A key that may write need not be one that may remove.
        bucket_->env().reporter.Warn(
            fmt::format("what lies beside '{}' is about the file that was replaced: {}", S3PathOf(artifact),
                        error.message()));
        break;
      }
    }
    return Ok();
  }

  [[nodiscard]] static bool IsSmall(const Upload& upload) {
    return upload.digests.size_bytes <= kMostBytesAtOnce;
  }
  [[nodiscard]] std::string Url(const Upload& upload) const { return bucket_->FileUrl(S3PathOf(upload)); }

  /// The digest of a file of the same size that another client has put there.
  Result<std::optional<RemoteFile>> ReadBack(const Upload& upload) {
    PTPKG_TRY(const HashedAnswer there, bucket_->Hash(S3PathOf(upload), upload.digests.size_bytes));
    if (there.answer.status == 200) return std::optional(RemoteFile{.sha256 = there.sha256.Hex()});
    if (there.answer.status == 404) return std::optional<RemoteFile>();
    return bucket_->ErrorOf(there.answer, fmt::format("asked to give '{}' back", S3PathOf(upload)));
  }

  std::unique_ptr<S3Bucket> bucket_;
  S3Multipart multipart_;
  std::mutex mutex_;
  std::vector<ArtifactId> replaced_;  // under mutex_ while files are sent
};

}  // namespace

Result<std::unique_ptr<Remote>> MakeS3(Env& env, S3Place place) {
  PTPKG_TRY(std::unique_ptr<S3Bucket> bucket, S3Bucket::Make(env, std::move(place)));
  return std::unique_ptr<Remote>(std::make_unique<S3Remote>(std::move(bucket)));
}

}  // namespace ptpkg::publish
