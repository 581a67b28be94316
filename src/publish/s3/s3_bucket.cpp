// Requests to one bucket, for AWS and for other stores with the same interface.
//
// Conditional writes (If-Match, If-None-Match) protect an index that several runs write. Some stores ignore
// the conditions and write anyway, so ProbeConditions tries two writes that must be refused before it
// relies on them. Without conditions ptpkg warns, and s3_index.cpp reads back and repeats.
//
// Caches and lists can be behind: ReadListed compares an object with the bucket's list before it believes
// that an index is missing. A missing index would be made anew, without the rows of others.
// docs/decisions/0015-publishing.md explains the signatures.

#include "publish/s3/s3_bucket.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "publish/s3/s3_object.h"
#include "publish/s3/xml.h"
#include "support/digest/base64.h"
#include "support/digest/hash.h"
#include "support/net/url.h"
#include "support/reporter.h"
#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

constexpr const char* kUsualRegion = "us-east-1";
constexpr std::size_t kLongestRegion = 64;  // that libcurl signs
constexpr std::uint64_t kMostIndexBytes = 256U << 20U;

/// Codes of errors that have one meaning, whatever the request was.
struct KnownCode {
  std::string_view code;
  ErrorCode error;
  const char* hint;
};
constexpr std::array kKnownCodes = {
    KnownCode{"NoSuchBucket", ErrorCode::kNotFound,
              "create the bucket first, or correct --to and the region"},
    KnownCode{"AccessDenied", ErrorCode::kRefused,
              "the key needs s3:ListBucket for the bucket, and s3:GetObject and s3:PutObject below "
              "the prefix; to remove, s3:DeleteObject too"},
    KnownCode{"InvalidAccessKeyId", ErrorCode::kRefused,
              "the server does not know the key's id: check which one is used ('ptpkg explain publishing')"},
    KnownCode{"SignatureDoesNotMatch", ErrorCode::kRefused, "the secret does not belong to the key's id"},
    KnownCode{"ExpiredToken", ErrorCode::kRefused, "get new keys, and publish again: sent files stay"},
    KnownCode{"InvalidToken", ErrorCode::kRefused, "AWS_SESSION_TOKEN does not belong to the key"},
    // 412 and 409: somebody else has written, or is writing.
    KnownCode{"PreconditionFailed", ErrorCode::kAlreadyExists, ""},
    KnownCode{"ConditionalRequestConflict", ErrorCode::kAlreadyExists, ""},
    KnownCode{"OperationAborted", ErrorCode::kAlreadyExists, ""},
    KnownCode{"InternalError", ErrorCode::kNetwork, ""},
    KnownCode{"SlowDown", ErrorCode::kNetwork, ""},
    KnownCode{"RequestTimeout", ErrorCode::kNetwork, ""},
};

constexpr std::size_t kShortestBucket = 3;

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/// Amazon S3 User Guide, "General purpose bucket naming rules". The oldest buckets of us-east-1 have other
/// names, which cannot be part of a host, and ptpkg asks for a bucket by its host.
bool IsAwsBucketName(std::string_view name) {
  constexpr std::size_t kLongest = 63;
  constexpr std::array<std::string_view, 3> kReserved = {"xn--", "sthree-", "amzn-s3-demo-"};
  if (name.size() < kShortestBucket || name.size() > kLongest) return false;
  const bool clean =
      std::all_of(name.begin(), name.end(), [](char c) { return IsLowerOrDigit(c) || c == '.' || c == '-'; });
  if (!clean || !IsLowerOrDigit(name.front()) || !IsLowerOrDigit(name.back())) return false;
  if (name.find("..") != std::string_view::npos) return false;
  const bool is_address = std::count(name.begin(), name.end(), '.') == 3 &&
                          name.find_first_not_of("0123456789.") == std::string_view::npos;
  return !is_address && std::none_of(kReserved.begin(), kReserved.end(),
                                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Stores other than AWS take more names, Ceph for example 'A_B' of up to 255 characters.
bool IsBucketName(std::string_view name) {
  constexpr std::size_t kLongest = 255;
  return name.size() >= kShortestBucket && name.size() <= kLongest && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '_';
         });
}

bool IsPrefix(const std::string& prefix) {
  const std::vector<std::string> parts = Split(prefix, '/');
  return prefix.empty() || std::none_of(parts.begin(), parts.end(), [](const std::string& part) {
           return part.empty() || part == "." || part == "..";
         });
}

/// The bucket's address. A certificate of AWS covers one label before the region's name, and self-hosted
/// stores have no name for each bucket.
std::string BaseOf(const S3Place& place) {
  if (!place.endpoint.empty()) return fmt::format("{}/{}", place.endpoint, PercentEncode(place.bucket));
  const std::string host =
      fmt::format("s3.{}.amazonaws.com{}", place.region, place.region.starts_with("cn-") ? ".cn" : "");
  if (place.bucket.find('.') != std::string::npos) return fmt::format("https://{}/{}", host, place.bucket);
  return fmt::format("https://{}.{}", place.bucket, host);
}

/// Elements of an answer, or none.
XmlElement Said(const HttpAnswer& answer) {
  auto parsed = ParseXml(answer.body);
  return parsed && parsed->name == "Error" ? *std::move(parsed) : XmlElement();
}

std::string WithQuery(const std::string& url, const std::string& query) {
  return query.empty() ? url : url + "?" + query;
}

}  // namespace

std::string Md5Header(const Digests& digests) { return Base64(std::as_bytes(std::span(digests.md5.bytes))); }

Result<std::unique_ptr<S3Bucket>> S3Bucket::Make(Env& env, S3Place place) {
  const bool is_aws = place.endpoint.empty();
  if (is_aws ? !IsAwsBucketName(place.bucket) : !IsBucketName(place.bucket))
    return Error(ErrorCode::kUsage,
                 fmt::format("'{}' is not a bucket name{}", place.bucket, is_aws ? " that AWS accepts" : ""))
        .WithHint("write s3://BUCKET or s3://BUCKET/PREFIX");
  if (!IsPrefix(place.prefix))
    return Error(ErrorCode::kUsage, fmt::format("'{}' is not a key prefix", place.prefix))
        .WithHint("write names, separated by single slashes");
  if (place.region.empty()) place.region = kUsualRegion;
  const std::string region = ToLower(place.region);
  if (PercentEncode(region) != region || region.size() > kLongestRegion)
    return Error(ErrorCode::kUsage, fmt::format("'{}' is not a region name", place.region))
        .WithHint("set it in AWS_REGION, AWS_DEFAULT_REGION or the profile, such as eu-central-1");
  while (place.endpoint.ends_with('/')) place.endpoint.pop_back();
  if (place.endpoint.find_first_of("?#") != std::string::npos)
    return Error(ErrorCode::kInvalidInput, "the URL of an S3 endpoint has no query");
  const std::string base = BaseOf(place);
  PTPKG_TRY(std::string origin, OriginOf(base));
  return std::unique_ptr<S3Bucket>(new S3Bucket(env, std::move(place), base, std::move(origin)));
}

S3Bucket::S3Bucket(Env& env, S3Place place, std::string base, std::string origin)
    : place_(std::move(place)), base_(std::move(base)), exchange_(env, std::move(origin), {}) {}

void S3Bucket::SetKeys(AwsKeys keys) {
  exchange_.SetSignature({.keys = std::move(keys), .region = place_.region});
}

Result<void> S3Bucket::LogIn(AwsKeys keys) {
  SetKeys(std::move(keys));
  PTPKG_TRY(const HttpAnswer answer, Send({.url = ListUrl()}));
  if (answer.status == 200) return Ok();
  return ErrorOf(answer, fmt::format("listing '{}'", place_.bucket));
}

std::string S3Bucket::ListUrl() const {
  return BucketUrl("list-type=2&max-keys=1&prefix=" + PercentEncode(KeyOf("")));
}

std::string S3Bucket::Title() const {
  return fmt::format("s3://{}{}{} at {}", place_.bucket, place_.prefix.empty() ? "" : "/", place_.prefix,
                     place_.endpoint.empty() ? "AWS, " + place_.region : place_.endpoint);
}

std::string S3Bucket::BucketUrl(const std::string& query) const { return WithQuery(base_ + "/", query); }

std::string S3Bucket::FileUrl(const std::string& path, const std::string& query) const {
  return WithQuery(fmt::format("{}/{}", base_, EncodePath(KeyOf(path))), query);
}

std::string S3Bucket::KeyOf(const std::string& path) const {
  return place_.prefix.empty() ? path : place_.prefix + "/" + path;
}

Result<HttpAnswer> S3Bucket::Send(Request request) {
  request.gives_redirects = true;
  if (!request.body.file) {
    HashingSink hasher(nullptr, {.md5 = true});
    PTPKG_CHECK(hasher.Write(AsBytes(request.body.before)));
    const Digests digests = hasher.Finish();
    request.headers["x-amz-content-sha256"] = digests.sha256.Hex();
    if (request.body.size() > 0) request.headers["Content-MD5"] = Md5Header(digests);
  }
  return exchange_.Send(request);
}

Result<HashedAnswer> S3Bucket::Hash(const std::string& path, std::uint64_t limit_bytes) {
  return HashAnswer(env(), limit_bytes,
                    [&](ByteSink& sink) { return Send({.url = FileUrl(path), .answer_sink = &sink}); });
}

Result<HttpAnswer> S3Bucket::SendIf(Request request, const S3Condition& condition) {
  if (knows_conditions_ && (condition.nothing || !condition.etag.empty())) {
    Request conditional = request;
    if (condition.nothing) {
      conditional.headers["If-None-Match"] = "*";
    } else {
      conditional.headers["If-Match"] = condition.etag;
    }
    PTPKG_TRY(HttpAnswer answer, Send(std::move(conditional)));
    if (answer.status != 501) return answer;
    GiveUpConditions();
  }
  return Send(std::move(request));
}

void S3Bucket::GiveUpConditions() {
  knows_conditions_ = false;
  honours_conditions_ = false;
  WarnOfConditions();
}

void S3Bucket::WarnOfConditions() {
  if (has_warned_.exchange(true)) return;
  env().reporter.Warn(fmt::format(
      "{} has no conditional writes: ptpkg reads its writes back after two seconds and repairs lost ones, "
      "which helps only if no run is slower; so publish from one place at a time",
      Title()));
}

Result<long> S3Bucket::TryCondition(const S3Condition& condition) {
  const std::string text = "Written by ptpkg to find out whether this store honours conditional writes.\n";
  std::map<std::string, std::string> headers = {{"Content-Type", "text/plain; charset=utf-8"},
                                                {"x-amz-meta-sha256", HashText(text).Hex()}};
  headers[condition.nothing ? "If-None-Match" : "If-Match"] = condition.nothing ? "*" : condition.etag;
  PTPKG_TRY(const HttpAnswer answer, Send({.method = "PUT",
                                           .url = FileUrl(kConditionsFile),
                                           .headers = std::move(headers),
                                           .body = {.before = text}}));
  return answer.status;
}

Result<void> S3Bucket::ProbeConditions() {
  if (has_probed_) return Ok();
  // Two refusals are needed: a second creation, and a write for an ETag that nothing has.
  // 409: somebody else writes it at this moment.
  const auto refused = [](long status) { return status == 412 || status == 409 || status == 404; };
  PTPKG_TRY(long anew, TryCondition({.nothing = true}));
  if (anew == 200) {
    PTPKG_TRY(anew, TryCondition({.nothing = true}));
  }
  PTPKG_TRY(const long other, TryCondition({.etag = "\"00000000000000000000000000000000\""}));
  has_probed_ = true;
  honours_conditions_ = refused(anew) && refused(other) && knows_conditions_;
  if (honours_conditions_) return Ok();
  if (anew == 501 || other == 501) knows_conditions_ = false;
  WarnOfConditions();
  return Ok();
}

Result<std::optional<std::string>> S3Bucket::ListedEtag(const std::string& path) {
  // Among all keys with this prefix, the file's own comes first.
  const std::string key = KeyOf(path);
  PTPKG_TRY(const HttpAnswer answer,
            Send({.url = BucketUrl("list-type=2&max-keys=1&prefix=" + PercentEncode(key))}));
  if (answer.status != 200) return ErrorOf(answer, fmt::format("looking up '{}'", path));
  const auto list = ParseXml(answer.body);
  if (!list) return std::optional<std::string>();
  for (const XmlElement& item : list->children) {
    if (item.name == "Contents" && item.TextOf("Key") == key)
      return std::optional(BareEtag(item.TextOf("ETag")));
  }
  return std::optional<std::string>();
}

Result<std::optional<S3Object>> S3Bucket::ReadListed(const std::string& path) {
  std::string before;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    PTPKG_TRY(std::optional<S3Object> object, Read(path));
    if (object && honours_conditions_) return object;
    PTPKG_TRY(const std::optional<std::string> listed, ListedEtag(path));
    if (object.has_value() == listed.has_value()) {
      const std::string etag = object ? BareEtag(object->etag) : "";
      if (!object || listed->empty() || etag.empty() || etag == *listed) return object;
      // Some lists have ETags of their own: if both values stay, the difference is permanent.
      const std::string both = etag + " " + *listed;
      if (both == before) return object;
      before = both;
    } else if (object) {
      return object;  // a list that is behind
    }
    PTPKG_CHECK(WaitBeforeRetry(env().clock, attempt + 1, env().cancel));
  }
  return Error(ErrorCode::kNetwork,
               fmt::format("{} lists '{}', but answers 404 to a request for it", Title(), path))
      .WithHint("publish again in some minutes: nothing was overwritten");
}

Error S3Bucket::ErrorOf(const HttpAnswer& answer, const std::string& doing) const {
  const XmlElement said = Said(answer);
  const std::string code = said.TextOf("Code");
  if (code == "RequestTimeTooSkewed") {
    return Error(
               ErrorCode::kRefused,
               fmt::format("the clock of this machine is wrong: the server's is {}, and the request said {}",
                           said.TextOf("ServerTime"), said.TextOf("RequestTime")))
        .WithHint("set the clock, for example by 'timedatectl set-ntp true'");
  }
  std::string region = said.TextOf("Region");
  if (region.empty()) region = HeaderOfAnswer(answer, "x-amz-bucket-region");
  const bool elsewhere =
      answer.status / 100 == 3 || code == "AuthorizationHeaderMalformed" || answer.status == 400;
  if (elsewhere && !region.empty() && region != place_.region) {
    return Error(ErrorCode::kRefused, fmt::format("bucket '{}' is in the region '{}', not '{}'",
                                                  place_.bucket, region, place_.region))
        .WithHint(fmt::format("set AWS_REGION={}", region));
  }
  HttpAnswer shown = answer;
  if (!code.empty()) shown.body = fmt::format("{}: {}", code, said.TextOf("Message"));
  Error error = AnswerError(shown, doing);
  for (const KnownCode& known : kKnownCodes) {
    // A status that may pass is believed, whatever the words say.
    if (code == known.code && error.code() != ErrorCode::kNetwork)
      return Error(known.error, error.message()).WithHint(known.hint);
  }
  // For HEAD, whose answers have no body.
  if (answer.status == 412) return {ErrorCode::kAlreadyExists, error.message()};
  return error;
}

Result<std::optional<S3Object>> S3Bucket::Read(const std::string& path) {
  // A proxy that compresses makes weak ETags, which fulfil no condition.
  PTPKG_TRY(HttpAnswer answer, Send({.url = FileUrl(path),
                                     .headers = {{"Accept-Encoding", "identity"}},
                                     .answer_limit_bytes = kMostIndexBytes}));
  if (answer.status == 200) {
    std::string etag = HeaderOfAnswer(answer, "etag");
    if (etag.starts_with("W/")) etag.erase(0, 2);
    return std::optional(S3Object{.text = std::move(answer.body), .etag = std::move(etag)});
  }
  Error error = ErrorOf(answer, fmt::format("asked for '{}'", path));
  if (answer.status == 404 && Said(answer).TextOf("Code") != "NoSuchBucket") return std::optional<S3Object>();
  return error;
}

Result<void> S3Bucket::Write(const std::string& path, const std::string& type, const std::string& text,
                             const S3Condition& condition) {
  // Whatever lies between a reader and the bucket asks whether there is a newer one: a page and the packages
  // that it lists belong together.
  const Request request{.method = "PUT",
                        .url = FileUrl(path),
                        .headers = {{"Content-Type", type},
                                    {"Cache-Control", "no-cache"},
                                    {"x-amz-meta-sha256", HashText(text).Hex()}},
                        .body = {.before = text}};
  const bool is_conditional = condition.nothing || !condition.etag.empty();
  for (int attempt = 1;; ++attempt) {
    PTPKG_TRY(const HttpAnswer answer, SendIf(request, condition));
    if (answer.status == 200) return Ok();
    // 409: another write of the same key is under way. Who has a condition reads what came of it.
    const bool is_busy = answer.status == 409 && !is_conditional;
    if (!is_busy || attempt == kAttempts) return ErrorOf(answer, fmt::format("given '{}'", path));
    PTPKG_CHECK(WaitBeforeRetry(env().clock, attempt + 1, env().cancel));
  }
}

Result<bool> S3Bucket::WriteIfOther(const std::string& path, const std::string& type,
                                    const std::string& text) {
  PTPKG_TRY(const HttpAnswer answer, Send({.method = "HEAD", .url = FileUrl(path)}));
  if (answer.status != 200 && answer.status != 404)
    return ErrorOf(answer, fmt::format("asked for '{}'", path));
  if (answer.status == 200) {
    HashingSink hash(nullptr, {.md5 = true});
    PTPKG_CHECK(hash.Write(AsBytes(text)));
    const Digests digests = hash.Finish();
    ObjectContent content = JudgeObject(answer, {.file = digests});
    if (content == ObjectContent::kUnknown) {
      PTPKG_TRY(const std::optional<S3Object> there, Read(path));
      content = there && there->text == text ? ObjectContent::kSame : ObjectContent::kOther;
    }
    if (content == ObjectContent::kSame) return false;
  }
  PTPKG_CHECK(Write(path, type, text, {}));
  return true;
}

}  // namespace ptpkg::publish
