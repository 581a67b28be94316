#pragma once
// A bucket of S3, or of a store that speaks as S3 does: addresses, signed requests, what its errors mean.
// Layer: publish. Source: Amazon S3 API Reference.

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

/// Written to find out whether a store honours conditions. It stays, so that finding out takes two requests.
inline constexpr const char* kConditionsFile = ".ptpkg-conditions";

/// Calls may come from several threads, after SetKeys().
class S3Bucket {
 public:
  /// Errors: kUsage (names), kInvalidInput (endpoint).
  static Result<std::unique_ptr<S3Bucket>> Make(Env& env, S3Place place);

  void SetKeys(AwsKeys keys);
  /// SetKeys, and asks what the bucket has: what is wrong with key, clock, region or bucket is told here; the
  /// answers to HEAD have no words.
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

  /// Exchange::Send, signed. Of a body that is text alone the digest is taken here; of others the caller
  /// gives it as x-amz-content-sha256. Redirects are answers.
  Result<HttpAnswer> Send(Request request);
  /// Send under a condition. A store that knows none (501) gets this and all further requests without, and
  /// the user a warning.
  Result<HttpAnswer> SendIf(Request request, const S3Condition& condition);
  /// Finds out once whether the store honours conditions: it must refuse to write kConditionsFile anew, and
  /// to replace it where it is another one. One that carries out such a write is warned of.
  Result<void> ProbeConditions();
  /// True if a conditional write protects other writers' data: false before ProbeConditions().
  [[nodiscard]] bool HonoursConditions() const { return honours_conditions_; }
  /// The store has refused a write though its condition held: from now on writes are without.
  void GiveUpConditions();

  /// Error for a status other than the wanted one, as AnswerError; a condition that did not hold, and an
  /// object that somebody else is changing: kAlreadyExists.
  [[nodiscard]] Error ErrorOf(const HttpAnswer& answer, const std::string& doing) const;

  /// HashAnswer of a file.
  Result<HashedAnswer> Hash(const std::string& path, std::uint64_t limit_bytes);
  /// nullopt: nothing is there, as far as one answer tells. Errors: those of Send and ErrorOf.
  Result<std::optional<S3Object>> Read(const std::string& path);
  /// The same, compared with the bucket's list where nothing is there, or where no condition protects what is
  /// written next: a cache or a replica may be behind. Errors: kNetwork, where the two do not come to agree.
  Result<std::optional<S3Object>> ReadListed(const std::string& path);
  /// Writes a small file, with its digest in x-amz-meta-sha256. Errors: kAlreadyExists: the condition did not
  /// hold.
  Result<void> Write(const std::string& path, const std::string& type, const std::string& text,
                     const S3Condition& condition);
  /// The same where another one or none is there. True: it was written.
  Result<bool> WriteIfOther(const std::string& path, const std::string& type, const std::string& text);

  /// The ETag by which the bucket's list has a file; nullopt: it is not listed.
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

/// The header of an answer, named in lower case; "" when there is none.
std::string HeaderOfAnswer(const HttpAnswer& answer, const std::string& name);

/// "Content-MD5" of digests.
std::string Md5Header(const Digests& digests);

}  // namespace ptpkg::publish
