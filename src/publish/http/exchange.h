#pragma once
// HTTP requests to one server, with safe retries. Layer: publish.

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "support/digest/hash.h"
#include "support/digest/stream.h"
#include "support/env.h"

namespace ptpkg::publish {

/// A body of fixed length: text around at most one file, which is read during the transfer.
struct Body {
  std::string before = {};
  std::optional<AbsPath> file = {};
  std::uint64_t file_bytes = 0;
  std::string after = {};

  [[nodiscard]] std::uint64_t size() const { return before.size() + file_bytes + after.size(); }
};

enum class Repeat : std::uint8_t {
  /// Repeating the request has no further effect (GET, HEAD, PUT, DELETE). Transient failures are retried, at
  /// most kAttempts times: no connection, a cut answer, 408, 429 and 5xx except 501 and 505.
  kSafe,
  /// The server might have carried out the request even if no answer came. Only 429 is retried, because it
  /// means that nothing was done. After all other failures the caller first finds out what the server has.
  kOnce,
};

struct Request {
  std::string method = "GET";
  std::string url = {};  ///< Without credentials.
  std::map<std::string, std::string> headers = {};
  Body body = {};
  Repeat repeat = Repeat::kSafe;
  std::function<void(std::uint64_t)> on_sent = {};  ///< See HttpCall; restarts with each attempt.
  std::uint64_t answer_limit_bytes = 4U << 20U;     ///< See HttpCall.
  ByteSink* answer_sink = nullptr;                  ///< See HttpCall; with it, a cut answer is not retried.
  bool gives_redirects = false;  ///< A redirect counts as an answer, which the caller interprets.
  bool stays_at_server = false;  ///< A redirect to another host or port counts as an answer, too.
};

/// Takes an answer that nobody reads, but at most so many bytes. Errors: kRefused, for more.
class NullSink final : public ByteSink {
 public:
  explicit NullSink(std::uint64_t limit_bytes = UINT64_MAX) : left_(limit_bytes) {}
  Result<void> Write(Bytes bytes) override {
    if (bytes.size() > left_) return Error(ErrorCode::kRefused, "the server's answer exceeds the size limit");
    left_ -= bytes.size();
    return Ok();
  }

 private:
  std::uint64_t left_;
};

inline constexpr int kAttempts = 4;

class Exchange {
 public:
  /// `headers` (credentials, user agent) go with every request below `origin`, and to no other server. They
  /// go past all proxies if `origin` is this machine.
  Exchange(Env& env, std::string origin, std::map<std::string, std::string> headers);

  /// From now on, sends requests even after an interrupt: to undo what was begun.
  void IgnoreCancel() { despite_cancel_ = true; }

  /// Credentials that came later.
  void SetHeader(const std::string& name, std::string value) { headers_[name] = std::move(value); }

  /// Signs each call below `origin`, every try anew.
  void SetSignature(AwsSignature signature) { signature_ = std::move(signature); }

  /// The answer, whatever its status. After retries (see Repeat), this is the last one. Waits as long as the
  /// Retry-After of any earlier answer asks, at most kLongestRetryAfter; a longer wait is kNetwork. Follows
  /// redirects only for GET and HEAD, within http or https, at most 5 times. A redirect to another server
  /// goes without the headers of this exchange. Errors: as Http::Call, and kRefused for another redirect.
  Result<HttpAnswer> Send(const Request& request);

  [[nodiscard]] const std::string& origin() const { return origin_; }
  [[nodiscard]] Env& env() const { return *env_; }

 private:
  Result<HttpAnswer> SendOnce(const Request& request, const std::string& url);
  Result<HttpAnswer> FollowRedirects(const Request& request);
  Result<void> WaitUntilAllowed();
  [[nodiscard]] const CancelToken& cancel() const { return despite_cancel_ ? never_ : env_->cancel; }
  void NoteRetryAfter(const HttpAnswer& answer);

  Env* env_;
  std::string origin_;  // "https://host:port"
  std::map<std::string, std::string> headers_;
  std::optional<AwsSignature> signature_;
  CancelToken never_;
  bool despite_cancel_ = false;
  std::mutex mutex_;
  std::optional<std::chrono::steady_clock::time_point> not_before_;  // under mutex_
};

/// An answer, and the digest of its body where its status is 200.
struct HashedAnswer {
  HttpAnswer answer;
  Sha256 sha256 = {};
};

/// Has `get` send a GET whose answer goes to the sink, at most kAttempts times: a cut body is read anew.
/// Errors: any from `get`, kRefused for a body longer than `limit_bytes`.
Result<HashedAnswer> HashAnswer(Env& env, std::uint64_t limit_bytes,
                                const std::function<Result<HttpAnswer>(ByteSink&)>& get);

/// Waits before try number `attempt`, from 2: longer each time, and not equally long in each process. Errors:
/// kCancelled.
Result<void> WaitBeforeRetry(Clock& clock, int attempt, const CancelToken& cancel);

/// "https://host:port" of a URL, its path left out. Errors: kInvalidInput unless it is http: or https:, has a
/// host, no user name, and passes CheckUrl (support/net/resolve_url.h).
Result<std::string> OriginOf(const std::string& url);

/// True if requests to `origin` (OriginOf) do not leave this machine, unless by a proxy.
bool IsLoopback(std::string_view origin);

/// Error for an unexpected status. `doing`: "looking up the package 'toy'". The message holds the server's
/// words, shortened. Codes by status:
///
/// - 401, 403, 407: kRefused with a hint about the token
/// - 404: kNotFound
/// - 409: kAlreadyExists
/// - 408, 425, 429 and 5xx, except 507: kNetwork
/// - 402, 413, 507, other 4xx and 3xx: kRefused
Error AnswerError(const HttpAnswer& answer, const std::string& doing);

/// The header of an answer, named in lower case; "" when there is none.
std::string HeaderOfAnswer(const HttpAnswer& answer, const std::string& name);

/// PercentEncode of each segment of a path: "a/b c" → "a/b%20c".
std::string EncodePath(std::string_view path);

}  // namespace ptpkg::publish
