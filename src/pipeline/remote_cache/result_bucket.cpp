// Equal keys mean equal content, so whoever writes first wins (If-None-Match), and a second writer has
// nothing to do. A store without conditional writes answers 501: there the last writer wins, which harms no
// reader, because an object appears as a whole. Each upload is compared with what the bucket has afterwards,
// since some stores ignore conditions, and others lose writes.

#include "pipeline/remote_cache/result_bucket.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>

#include "publish/s3/s3_object.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

using publish::HashedAnswer;

/// 30 s, or less if PTPKG_ANSWER_TIMEOUT asks for it. cli/ has checked the variable.
std::chrono::milliseconds PatienceOf(const Env& env) {
  constexpr std::int64_t kUsual = 30;
  const std::string text = env.Variable("PTPKG_ANSWER_TIMEOUT");
  std::int64_t seconds = kUsual;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 1, kUsual));
}

/// Writes to the disk, hashes, and reports that bytes arrive.
class DownloadSink final : public ByteSink {
 public:
  DownloadSink(Env& env, const graph::Node& node, ByteSink& hash, File& file,
               TransferGuard::Transfer& transfer)
      : env_(env), node_(node), hash_(hash), disk_(file), transfer_(transfer) {}

  Result<void> Write(Bytes bytes) override {
    if (!task_) task_.emplace(env_.reporter, TaskInfo{.stage = "fetch", .subject = node_.subject});
    PTPKG_CHECK(hash_.Write(bytes));
    PTPKG_CHECK(disk_.Write(bytes));
    task_->Advance(bytes.size());
    transfer_.Moved(disk_.offset());
    return Ok();
  }

  void Done() {
    if (task_) task_->Done(HumanBytes(disk_.offset()));
  }

 private:
  Env& env_;
  const graph::Node& node_;
  ByteSink& hash_;
  FileSink disk_;
  TransferGuard::Transfer& transfer_;
  std::optional<Task> task_;  // begins with the first byte: most look-ups find nothing
};

/// Hashes, and reports that bytes arrive.
class MovingSink final : public ByteSink {
 public:
  MovingSink(ByteSink& hash, TransferGuard::Transfer& transfer) : hash_(hash), transfer_(transfer) {}

  Result<void> Write(Bytes bytes) override {
    PTPKG_CHECK(hash_.Write(bytes));
    transfer_.Moved(moved_ += bytes.size());
    return Ok();
  }

 private:
  ByteSink& hash_;
  TransferGuard::Transfer& transfer_;
  std::uint64_t moved_ = 0;
};

}  // namespace

ResultBucket::ResultBucket(Env& env)
    : env_(env), guard_(env, PatienceOf(env)), network_(WithCancel(env, guard_.token())) {}

Result<std::unique_ptr<ResultBucket>> ResultBucket::Open(Env& env, publish::S3Place place, AwsKeys keys) {
  std::unique_ptr<ResultBucket> opened(new ResultBucket(env));
  PTPKG_TRY(opened->bucket_, publish::S3Bucket::Make(opened->network_, std::move(place)));
  opened->bucket_->SetKeys(std::move(keys));
  return opened;
}

Result<HttpAnswer> ResultBucket::Head(const std::string& path) {
  const TransferGuard::Transfer transfer(guard_);
  return bucket_->Send({.method = "HEAD", .url = bucket_->FileUrl(path)});
}

Result<bool> ResultBucket::Holds(const std::string& path) {
  PTPKG_TRY(const HttpAnswer answer, Head(path));
  if (answer.status == 200 || answer.status == 404) return answer.status == 200;
  return bucket_->ErrorOf(answer, fmt::format("looking up '{}'", path));
}

Result<std::optional<HashedAnswer>> ResultBucket::Download(const graph::Node& node, const std::string& path,
                                                           const AbsPath& to) {
  PTPKG_TRY(const std::unique_ptr<File> file, env_.fs.Open(to, OpenMode::kCreateNew));
  TransferGuard::Transfer transfer(guard_);
  PTPKG_TRY(HashedAnswer got,
            publish::HashAnswer(network_, kMostObjectBytes, [&](ByteSink& hash) -> Result<HttpAnswer> {
              PTPKG_CHECK(file->Truncate(0));  // of an attempt that was cut
              DownloadSink sink(env_, node, hash, *file, transfer);
              PTPKG_TRY(HttpAnswer answer, bucket_->Send({.url = bucket_->FileUrl(path),
                                                          .headers = {{"Accept-Encoding", "identity"}},
                                                          .answer_sink = &sink}));
              sink.Done();
              return answer;
            }));
  PTPKG_CHECK(file->Close());
  if (got.answer.status == 200) return std::optional(std::move(got));
  // NoSuchBucket has the same status.
  const bool is_absent =
      got.answer.status == 404 && got.answer.body.find("NoSuchBucket") == std::string::npos;
  if (is_absent) return std::optional<HashedAnswer>();
  return bucket_->ErrorOf(got.answer, fmt::format("asked for '{}'", path));
}

Result<bool> ResultBucket::Upload(const graph::Node& node, const std::string& path, const LocalObject& object,
                                  const ObjectBefore& before) {
  const std::string sha256 = object.digests.sha256.Hex();
  const std::uint64_t bytes = object.digests.size_bytes;
  Task task(env_.reporter, {.stage = "upload", .subject = node.subject, .total_bytes = bytes});
  TransferGuard::Transfer transfer(guard_, true);
  std::uint64_t most = 0;
  publish::Request request{.method = "PUT",
                           .url = bucket_->FileUrl(path),
                           .headers = {{"Content-Type", "application/zstd"},
                                       {"Content-MD5", publish::Md5Header(object.digests)},
                                       {"x-amz-content-sha256", sha256},
                                       {kDigestHeader, sha256}},
                           .body = {.file = object.file, .file_bytes = bytes},
                           .on_sent = [&](std::uint64_t sent) {
                             transfer.Moved(sent);
                             if (sent > most) task.Advance(sent - most);
                             most = std::max(most, sent);
                           }};
  PTPKG_TRY(const HttpAnswer answer, SendUnderCondition(std::move(request), before));
  if (!before.replace && (answer.status == 412 || answer.status == 409)) {
    task.Skipped("another run has uploaded it");
    return false;
  }
  if (answer.status != 200) return bucket_->ErrorOf(answer, fmt::format("given '{}'", path));
  PTPKG_CHECK(CompareWritten(path, object.digests, publish::HeaderOfAnswer(answer, "etag")));
  task.Done(HumanBytes(bytes));
  return true;
}

Result<HttpAnswer> ResultBucket::SendUnderCondition(publish::Request request, const ObjectBefore& before) {
  const bool is_free = before.replace || (before.damaged && before.etag.empty());
  if (is_free || !has_conditions_) return bucket_->Send(std::move(request));
  publish::Request conditional = request;
  if (before.damaged) {
    conditional.headers["If-Match"] = before.etag;
  } else {
    conditional.headers["If-None-Match"] = "*";
  }
  PTPKG_TRY(HttpAnswer answer, bucket_->Send(std::move(conditional)));
  if (answer.status != 501) return answer;
  has_conditions_ = false;
  return bucket_->Send(std::move(request));
}

Result<void> ResultBucket::CompareWritten(const std::string& path, const Digests& digests,
                                          const std::string& etag) {
  PTPKG_TRY(const HttpAnswer head, Head(path));
  if (publish::JudgeObject(head, {.file = digests, .written_etag = etag}) == publish::ObjectContent::kSame)
    return Ok();
  TransferGuard::Transfer transfer(guard_, true);
  PTPKG_TRY(const HashedAnswer there,
            publish::HashAnswer(network_, kMostObjectBytes, [&](ByteSink& hash) -> Result<HttpAnswer> {
              MovingSink sink(hash, transfer);
              return bucket_->Send({.url = bucket_->FileUrl(path), .answer_sink = &sink});
            }));
  const std::string sha256 = there.sha256.Hex();
  // Where no condition holds, another run can have replaced the object by its own.
  const bool is_whole =
      sha256 == digests.sha256.Hex() || sha256 == publish::HeaderOfAnswer(there.answer, kDigestHeader);
  if (there.answer.status == 200 && is_whole) return Ok();
  return Error(ErrorCode::kCorrupt,
               fmt::format("the bucket does not have the bytes of '{}' that it took", path));
}

}  // namespace ptpkg::pipeline
