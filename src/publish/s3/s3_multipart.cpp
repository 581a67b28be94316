#include "publish/s3/s3_multipart.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <map>

#include "publish/s3/xml.h"
#include "support/digest/scratch_buffer.h"
#include "support/process/parallel.h"
#include "support/reporter.h"

namespace ptpkg::publish {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr std::uint64_t kLeastPartBytes = 16 * kMiB;
constexpr std::uint64_t kMostParts = 10'000;
constexpr int kPartsAtOnce = 4;
constexpr int kMostPages = 1000;  // of a list; the server says when it ends
constexpr std::size_t kPartBlockBytes = 1U << 20U;

/// The elements of an answer with status 200. Stores do not agree on the name of the root: moto's list of
/// parts is a ListPartsResponse. Errors: kRefused: an error, or no XML.
Result<XmlElement> AnswerOf(const HttpAnswer& answer, std::string_view what) {
  auto parsed = ParseXml(answer.body);
  if (parsed && parsed->name != "Error") return *std::move(parsed);
  return Error(ErrorCode::kRefused, fmt::format("the server's answer is no {} of S3: {}", what,
                                                parsed ? parsed->TextOf("Code") : parsed.error().message()));
}

std::string EtagDigits(std::string etag) {
  std::erase(etag, '"');
  return etag;
}

/// 0 for what is no number.
int NumberOf(const std::string& text) {
  int number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size() ? number : 0;
}

/// Hashes a range of the file, and adds it to `whole`.
Result<Digests> HashRange(File& file, std::uint64_t offset, std::uint64_t size, HashingSink& whole) {
  HashingSink part(&whole, {.md5 = true});
  ScratchBuffer buffer(kPartBlockBytes);
  while (size > 0) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, kPartBlockBytes));
    PTPKG_TRY(const std::size_t got, file.ReadAt(offset, buffer.bytes().first(wanted)));
    if (got == 0) return Error(ErrorCode::kRefused, "a file became shorter while it was sent");
    PTPKG_CHECK(part.Write(buffer.First(got)));
    offset += got;
    size -= got;
  }
  return part.Finish();
}

/// Sums what the parts have sent.
class Progress {
 public:
  explicit Progress(const std::function<void(std::uint64_t)>& on_sent) : on_sent_(on_sent) {}

  void Tell(int part, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    std::uint64_t& told = of_part_[part];
    if (bytes <= told) return;
    sum_ += bytes - told;
    told = bytes;
    if (on_sent_) on_sent_(sum_);
  }

 private:
  const std::function<void(std::uint64_t)>& on_sent_;
  std::mutex mutex_;
  std::map<int, std::uint64_t> of_part_;
  std::uint64_t sum_ = 0;
};

/// What may pass by itself, and what the user ended: the next run goes on there.
bool GoesOnLater(const Error& error) {
  return error.code() == ErrorCode::kNetwork || error.code() == ErrorCode::kCancelled;
}

}  // namespace

struct S3Multipart::Part {
  int number = 0;
  Digests digests = {};
  std::string etag = {};  ///< Of what the server has; "" = it is to be sent.
};

/// One file on its way.
struct S3Multipart::Job {
  const Upload& upload;
  const std::string& path;
  const S3Condition& condition;
  PartLayout layout;
  Progress progress;
  std::string id = {};                          ///< Of the upload.
  std::map<int, std::string> etags_there = {};  ///< Of the parts that the server has.
  std::vector<Part> parts = {};                 ///< In order, when all are there.

  [[nodiscard]] std::string IdQuery() const { return "uploadId=" + PercentEncode(id); }
};

std::uint64_t PartLayout::OffsetOf(int number) const {
  return static_cast<std::uint64_t>(number - 1) * part_bytes;
}

std::uint64_t PartLayout::SizeOf(int number, std::uint64_t file_bytes) const {
  return std::min(part_bytes, file_bytes - OffsetOf(number));
}

PartLayout LayoutOf(const Digests& file) {
  const auto ceil_of = [](std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; };
  const std::uint64_t whole_mib = ceil_of(ceil_of(file.size_bytes, kMostParts), kMiB) * kMiB;
  const auto& sha256 = file.sha256.bytes;
  const std::uint64_t of_digest = (static_cast<std::uint64_t>(sha256[0]) << 16U |
                                   static_cast<std::uint64_t>(sha256[1]) << 8U | sha256[2]) %
                                  kMiB;
  const std::uint64_t part = std::max(kLeastPartBytes, whole_mib) + of_digest;
  return {.part_bytes = part, .parts = static_cast<int>(ceil_of(file.size_bytes, part))};
}

Result<std::string> PartsEtag(Env& env, const Upload& upload) {
  const PartLayout layout = LayoutOf(upload.digests);
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(upload.file, OpenMode::kRead));
  HashingSink whole(nullptr);
  HashingSink of_parts(nullptr, {.md5 = true});
  for (int number = 1; number <= layout.parts; ++number) {
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_TRY(const Digests part, HashRange(*file, layout.OffsetOf(number),
                                            layout.SizeOf(number, upload.digests.size_bytes), whole));
    PTPKG_CHECK(of_parts.Write(std::as_bytes(std::span(part.md5.bytes))));
  }
  return fmt::format("{}-{}", of_parts.Finish().md5.Hex(), layout.parts);
}

std::string S3Multipart::EtagOf(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = etags_.find(path);
  return found == etags_.end() ? "" : found->second;
}

Result<void> S3Multipart::Send(const Upload& upload, const std::string& path, const S3Condition& condition,
                               const std::function<void(std::uint64_t)>& on_sent) {
  Job job{.upload = upload,
          .path = path,
          .condition = condition,
          .layout = LayoutOf(upload.digests),
          .progress = Progress(on_sent)};
  PTPKG_TRY(const bool goes_on, FindUnfinished(job));
  if (!goes_on) PTPKG_CHECK(Begin(job));
  Result<void> sent = SendParts(job);
  if (sent) sent = Complete(job);
  if (!sent && !GoesOnLater(sent.error())) Abort(job);
  return sent;
}

Result<bool> S3Multipart::FindUnfinished(Job& job) {
  const std::string key = bucket_.KeyOf(job.path);
  std::string query = "uploads&prefix=" + PercentEncode(key);
  std::string from;
  for (int page = 1; page <= kMostPages; ++page) {
    PTPKG_TRY(const HttpAnswer answer, bucket_.Send({.url = bucket_.BucketUrl(query + from)}));
    if (answer.status != 200)
      return bucket_.ErrorOf(answer, fmt::format("asked for unfinished uploads of '{}'", job.path));
    PTPKG_TRY(const XmlElement list, AnswerOf(answer, "ListMultipartUploadsResult"));
    for (const XmlElement& item : list.children) {
      if (item.name != "Upload" || item.TextOf("Key") != key) continue;
      PTPKG_TRY(const bool ours, ReadParts(job, item.TextOf("UploadId")));
      if (ours) return true;
    }
    if (list.TextOf("IsTruncated") != "true") break;
    from = fmt::format("&key-marker={}&upload-id-marker={}", PercentEncode(list.TextOf("NextKeyMarker")),
                       PercentEncode(list.TextOf("NextUploadIdMarker")));
  }
  return false;
}

Result<bool> S3Multipart::ReadParts(Job& job, const std::string& id) {
  std::map<int, std::string> etags;
  std::string from;
  for (int page = 1; page <= kMostPages; ++page) {
    const std::string query = "uploadId=" + PercentEncode(id) + from;
    PTPKG_TRY(const HttpAnswer answer, bucket_.Send({.url = bucket_.FileUrl(job.path, query)}));
    if (answer.status == 404) return false;  // ended meanwhile
    if (answer.status != 200)
      return bucket_.ErrorOf(answer, fmt::format("asked for the parts of '{}'", job.path));
    PTPKG_TRY(const XmlElement list, AnswerOf(answer, "ListPartsResult"));
    for (const XmlElement& item : list.children) {
      if (item.name != "Part") continue;
      const int number = NumberOf(item.TextOf("PartNumber"));
      const bool fits =
          number >= 1 && number <= job.layout.parts &&
          item.TextOf("Size") == std::to_string(job.layout.SizeOf(number, job.upload.digests.size_bytes));
      if (!fits) return false;
      etags[number] = item.TextOf("ETag");
    }
    if (list.TextOf("IsTruncated") != "true") break;
    from = "&part-number-marker=" + PercentEncode(list.TextOf("NextPartNumberMarker"));
  }
  if (etags.empty()) return false;  // whose it is, nothing tells
  job.id = id;
  job.etags_there = std::move(etags);
  return true;
}

Result<void> S3Multipart::Begin(Job& job) {
  PTPKG_TRY(const HttpAnswer answer,
            bucket_.Send({.method = "POST",
                          .url = bucket_.FileUrl(job.path, "uploads"),
                          .headers = {{"Content-Type", "application/octet-stream"},
                                      {"x-amz-meta-sha256", job.upload.digests.sha256.Hex()}},
                          .repeat = Repeat::kOnce}));
  if (answer.status != 200) return bucket_.ErrorOf(answer, fmt::format("told that '{}' is coming", job.path));
  PTPKG_TRY(const XmlElement begun, AnswerOf(answer, "InitiateMultipartUploadResult"));
  job.id = begun.TextOf("UploadId");
  if (job.id.empty()) return Error(ErrorCode::kRefused, "the server names no upload for the parts to come");
  const std::lock_guard lock(mutex_);
  begun_.insert(job.id);
  return Ok();
}

Result<void> S3Multipart::SendParts(Job& job) {
  const Digests& wanted = job.upload.digests;
  PTPKG_TRY(const std::unique_ptr<File> file, bucket_.env().fs.Open(job.upload.file, OpenMode::kRead));
  HashingSink whole(nullptr);
  int number = 0;
  // Hashed in order, one after another, while those before are on their way.
  const auto next = [&]() -> Result<std::optional<Part>> {
    if (number == job.layout.parts) return std::optional<Part>();
    Part part{.number = ++number};
    PTPKG_TRY(part.digests, HashRange(*file, job.layout.OffsetOf(number),
                                      job.layout.SizeOf(number, wanted.size_bytes), whole));
    const auto there = job.etags_there.find(number);
    if (there != job.etags_there.end() && EtagDigits(there->second) == part.digests.md5.Hex())
      part.etag = there->second;
    return std::optional(std::move(part));
  };
  const auto send = [&](Part part) { return SendPart(job, std::move(part)); };
  const auto done = [&](Part part) -> Result<void> {
    job.parts.push_back(std::move(part));
    return Ok();
  };
  PTPKG_CHECK((OrderedPipeline<Part, Part>(kPartsAtOnce, kPartsAtOnce, next, send, done)));
  if (whole.Finish().sha256 == wanted.sha256) return Ok();
  return ChangedWhilePublished(job.upload);
}

Result<S3Multipart::Part> S3Multipart::SendPart(Job& job, Part part) {
  const std::uint64_t bytes = part.digests.size_bytes;
  if (part.etag.empty()) {
    PTPKG_TRY(const HttpAnswer answer,
              bucket_.Send({.method = "PUT",
                            .url = bucket_.FileUrl(
                                job.path, fmt::format("partNumber={}&{}", part.number, job.IdQuery())),
                            .headers = {{"x-amz-content-sha256", part.digests.sha256.Hex()},
                                        {"Content-MD5", Md5Header(part.digests)}},
                            .body = {.file = job.upload.file,
                                     .file_bytes = bytes,
                                     .file_offset = job.layout.OffsetOf(part.number)},
                            .on_sent = [&](std::uint64_t sent) { job.progress.Tell(part.number, sent); }}));
    const std::string doing = fmt::format("given part {} of '{}'", part.number, job.path);
    if (answer.status != 200) return bucket_.ErrorOf(answer, doing);
    part.etag = HeaderOfAnswer(answer, "etag");
    if (part.etag.empty())
      return Error(ErrorCode::kRefused, fmt::format("the server told no ETag when {}", doing));
  }
  job.progress.Tell(part.number, bytes);
  return part;
}

Result<void> S3Multipart::Complete(const Job& job) {
  std::string body = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (const Part& part : job.parts) {
    body += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", part.number,
                        EscapeXml(part.etag));
  }
  body += "</CompleteMultipartUpload>";
  PTPKG_TRY(HttpAnswer answer, bucket_.SendIf({.method = "POST",
                                               .url = bucket_.FileUrl(job.path, job.IdQuery()),
                                               .headers = {{"Content-Type", "application/xml"}},
                                               .body = {.before = std::move(body)},
                                               .repeat = Repeat::kOnce},
                                              job.condition));
  const std::string doing = fmt::format("told that '{}' is complete", job.path);
  if (answer.status != 200) return bucket_.ErrorOf(answer, doing);
  // The status is sent while the server still works, so that nobody hangs up; what came of it is in the body.
  if (const auto completed = AnswerOf(answer, "CompleteMultipartUploadResult")) {
    const std::lock_guard lock(mutex_);
    etags_[job.path] = completed->TextOf("ETag");
    return Ok();
  }
  // An error that is named, or nothing that can be read: then what is there decides.
  answer.status = 500;
  return bucket_.ErrorOf(answer, doing);
}

void S3Multipart::Abort(const Job& job) {
  {
    const std::lock_guard lock(mutex_);
    if (begun_.erase(job.id) == 0) return;
  }
  const auto answer = bucket_.Send({.method = "DELETE", .url = bucket_.FileUrl(job.path, job.IdQuery())});
  if (answer && (answer->status / 100 == 2 || answer->status == 404)) return;
  bucket_.env().reporter.Warn(fmt::format(
      "the parts of '{}' could not be taken back: {}", job.path,
      answer ? bucket_.ErrorOf(*answer, "told to drop them").message() : answer.error().message()));
}

}  // namespace ptpkg::publish
