#pragma once
// A bucket of S3, or of a compatible store: URLs, signed requests, meaning of errors. Layer: publish. Source:
// Amazon S3 API Reference.

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "publish/http/exchange.h"

namespace ptpkg::publish {

struct S3Place {
  std::string bucket = {};
  std::string prefix = {};    ///< Prefix of all keys, without a slash at either end; "" = none.
  std::string region = {};    ///< "" = us-east-1, as for AWS's own clients.
  std::string endpoint = {};  ///< "https://host[:port][/path]"; "" = AWS.
};

/// Object under a key.
struct S3Object {
  std::string text = {};
  std::string etag = {};  ///< In the server's spelling, with quotes.
};

/// Condition of a write: the object that must be under the key.
struct S3Condition {
  bool nothing = false;   ///< No object yet.
  std::string etag = {};  ///< This; "" = whatever is there.
};

/// Written to find out whether a store honours conditions. It stays, so that the test takes two requests.
inline constexpr const char* kConditionsFile = ".ptpkg-conditions";

/// Calls may come from several threads, after SetKeys().
class S3Bucket {
 public:
  /// Errors: kUsage (names), kInvalidInput (endpoint).
  static Result<std::unique_ptr<S3Bucket>> Make(Env& env, S3Place place);

  void SetKeys(AwsKeys keys);
  /// SetKeys, then lists the bucket, which reports errors of key, clock, region or bucket. The answers to
  /// HEAD have no message.
  Result<void> LogIn(AwsKeys keys);
  /// The request that LogIn makes.
  [[nodiscard]] std::string ListUrl() const;

  /// "s3://bucket/prefix at https://…"
  [[nodiscard]] std::string Title() const;
  /// URL of the bucket itself, or with a query: "list-type=2".
  [[nodiscard]] std::string BucketUrl(const std::string& query = "") const;
  /// URL of a file below the prefix.
  [[nodiscard]] std::string FileUrl(const std::string& path, const std::string& query = "") const;
  /// The key of a file below the prefix.
  [[nodiscard]] std::string KeyOf(const std::string& path) const;

  /// Exchange::Send, signed. For a body of text alone, it computes the digest; for others the caller sets
  /// x-amz-content-sha256. Redirects are answers.
  Result<HttpAnswer> Send(Request request);
  /// Send under a condition. For a store without conditions (501), this and all further requests are sent
  /// without, and the user gets a warning.
  Result<HttpAnswer> SendIf(Request request, const S3Condition& condition);
  /// Finds out once whether the store honours conditions: it must refuse to write kConditionsFile anew, and
  /// to replace it if it differs. Warns if the store carries out such a write.
  Result<void> ProbeConditions();
  /// True if a conditional write protects other writers' data: false before ProbeConditions().
  [[nodiscard]] bool HonoursConditions() const { return honours_conditions_; }
  /// The store refused a write although its condition held: later writes have no condition.
  void GiveUpConditions();

  /// Error for an unexpected status, as AnswerError. Also kAlreadyExists for a condition that did not hold,
  /// and for an object that somebody else is changing.
  [[nodiscard]] Error ErrorOf(const HttpAnswer& answer, const std::string& doing) const;

  /// HashAnswer of a file.
  Result<HashedAnswer> Hash(const std::string& path, std::uint64_t limit_bytes);
  /// nullopt: nothing is there, as far as one answer can show. Errors: any from Send and ErrorOf.
  Result<std::optional<S3Object>> Read(const std::string& path);
  /// The same, but an absent object is compared with the bucket's list, and so is any object if no condition
  /// will protect the next write. A cache or a replica can be behind. Errors: kNetwork, if the two do not
  /// come to agree.
  Result<std::optional<S3Object>> ReadListed(const std::string& path);
  /// Writes a small file, with its digest in x-amz-meta-sha256. Errors: kAlreadyExists: the condition did not
  /// hold.
  Result<void> Write(const std::string& path, const std::string& type, const std::string& text,
                     const S3Condition& condition);
  /// The same, only if the file is absent or different. True: it was written.
  Result<bool> WriteIfOther(const std::string& path, const std::string& type, const std::string& text);

  /// The ETag of a file in the bucket's list; nullopt: it is not listed.
  Result<std::optional<std::string>> ListedEtag(const std::string& path);

  [[nodiscard]] const S3Place& place() const { return place_; }
  [[nodiscard]] Env& env() const { return exchange_.env(); }

 private:
  S3Bucket(Env& env, S3Place place, std::string base, std::string origin);
  /// The status of a write of kConditionsFile under a condition.
  Result<long> TryCondition(const S3Condition& condition);
  void WarnOfConditions();

  S3Place place_;
  std::string base_;  // URL of the bucket
  Exchange exchange_;
  std::atomic<bool> knows_conditions_{true};  // of requests with one
  std::atomic<bool> honours_conditions_{false};
  std::atomic<bool> has_warned_{false};
  bool has_probed_ = false;
};

/// "Content-MD5" of digests.
std::string Md5Header(const Digests& digests);

}  // namespace ptpkg::publish
