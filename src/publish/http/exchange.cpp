// Requests to one server: retries, waiting, redirects, and errors in the user's terms.
//
// - A request is repeated by itself only if doing it twice is the same as doing it once, or if the server
//   says that it did nothing (429). Other requests are the caller's to judge, after it has asked the
//   server.
// - Retry-After holds for all threads that talk to the server, up to a limit, and then the run ends with an
//   error.
// - Redirects are followed for GET and HEAD alone. Credentials go only to the origin that they were meant
//   for, and to no proxy on the way to this machine itself.
// - Answers are shown in part. Tokens and signatures are masked before the text is shortened, because a
//   part of a token would no longer be recognised.
//
// docs/decisions/0015-publishing.md has the reasons and the behaviour of other clients.

#include "publish/http/exchange.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/digest/hash.h"
#include "support/net/resolve_url.h"
#include "support/net/retry_after.h"
#include "support/net/url.h"
#include "support/secret.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

constexpr std::chrono::milliseconds kFirstPause{500};
constexpr int kMostRedirects = 5;
constexpr std::size_t kShownBytes = 200;  // of an answer's text

/// Text, file, text, one after another.
class BodySource final : public ByteSource {
 public:
  BodySource(const Body& body, std::unique_ptr<File> file)
      : before_(body.before), after_(body.after), file_(std::move(file)), file_rest_(body.file_bytes) {}

  Result<std::size_t> Read(MutableBytes buffer) override {
    if (const std::size_t count = Take(before_, buffer); count > 0) return count;
    if (file_ && file_rest_ > 0) {
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), file_rest_));
      PTPKG_TRY(const std::size_t count, file_->ReadAt(offset_, buffer.first(wanted)));
      if (count == 0) return Error(ErrorCode::kRefused, "a file shrank while it was sent");
      offset_ += count;
      file_rest_ -= count;
      return count;
    }
    return Take(after_, buffer);
  }

 private:
  static std::size_t Take(std::string_view& text, MutableBytes buffer) {
    const std::size_t count = std::min(text.size(), buffer.size());
    std::copy_n(AsBytes(text).begin(), count, buffer.begin());
    text.remove_prefix(count);
    return count;
  }

  std::string_view before_;
  std::string_view after_;
  std::unique_ptr<File> file_;
  std::uint64_t file_rest_;
  std::uint64_t offset_ = 0;
};

Result<std::unique_ptr<ByteSource>> OpenBody(Fs& fs, const Body& body) {
  std::unique_ptr<File> file;
  if (body.file) {
    PTPKG_TRY(file, fs.Open(*body.file, OpenMode::kRead));
  }
  return std::unique_ptr<ByteSource>(std::make_unique<BodySource>(body, std::move(file)));
}

bool IsTransientStatus(long status) {
  constexpr long kNotImplemented = 501;
  constexpr long kNoSuchVersion = 505;
  return status == 408 || status == 429 ||
         (status / 100 == 5 && status != kNotImplemented && status != kNoSuchVersion);
}

bool ShouldRetry(const Result<HttpAnswer>& answer, Repeat repeat) {
  if (!answer) return repeat == Repeat::kSafe && answer.error().code() == ErrorCode::kNetwork;
  return repeat == Repeat::kSafe ? IsTransientStatus(answer->status) : answer->status == 429;
}

/// Servers repeat the request that they do not take: whoever has its signature can send it again for a while.
std::string WithoutSignatures(std::string text) {
  constexpr std::string_view kMark = "ignature=";
  for (std::size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at)) {
    at += kMark.size();
    const std::size_t end = std::min(text.find_first_not_of("0123456789abcdefABCDEF%+/=", at), text.size());
    text.replace(at, end - at, "****");
  }
  return text;
}

/// Message in an answer: "error" or "message" of a JSON object, else its text.
std::string WordsOf(const HttpAnswer& answer) {
  std::string words = answer.body;
  const auto json = ParseJson(answer.body, "answer");
  if (json && json->is_object()) {
    for (const char* key : {"error", "message", "detail", "reason"}) {
      if (!json->contains(key) || !(*json)[key].is_string()) continue;
      words = (*json)[key].get<std::string>();
      break;
    }
  }
  // A page for browsers says nothing here.
  if (words.find('<') != std::string::npos) words.clear();
  // Before it is shortened: a part of a token would be recognised no more.
  words = WithoutSignatures(MaskSecrets(Trim(words)));
  if (words.size() > kShownBytes) words = words.substr(0, kShownBytes) + "…";
  return words;
}

ErrorCode CodeOf(long status) {
  if (status == 404 || status == 410) return ErrorCode::kNotFound;
  if (status == 409) return ErrorCode::kAlreadyExists;
  if (status == 507) return ErrorCode::kRefused;
  const bool passes = status == 408 || status == 425 || status == 429 || status / 100 == 5;
  return passes ? ErrorCode::kNetwork : ErrorCode::kRefused;
}

std::string_view HintOf(long status) {
  switch (status) {
    case 401:
      return "the server rejects the token: check it; 'ptpkg explain publishing' lists the places that ptpkg "
             "reads";
    case 403:
      return "check the token and its write permission; 'ptpkg explain publishing' lists the places that "
             "ptpkg reads";
    case 407:
      return "the proxy needs a user and password: check the proxy variables";
    case 402:
    case 507:
      return "the storage of the account is full: delete files first";
    case 404:
    case 410:
      return "check the names in --to and the URL in --server or --check-url";
    case 405:
      return "the URL does not accept uploads: check --server";
    case 409:
      return "the server has a file with this name: raise the build number, or check whether another run is "
             "sending it";
    case 413:
      return "the file exceeds the server's size limit";
    default:
      break;
  }
  const bool passes = CodeOf(status) == ErrorCode::kNetwork;
  return passes ? "publish again later: files that arrived are skipped" : "";
}

/// "host:port" of an origin.
std::string_view AuthorityOf(std::string_view origin) { return origin.substr(origin.find("://") + 3); }

}  // namespace

Result<std::string> OriginOf(const std::string& url) {
  const std::size_t scheme_end = url.find("://");
  const std::string scheme = ToLower(url.substr(0, scheme_end));
  if (scheme_end == std::string::npos || (scheme != "http" && scheme != "https")) {
    return Error(ErrorCode::kInvalidInput, "a server's URL begins with https:// or http://")
        .WithHint("give the whole URL: https://HOST/PATH");
  }
  const std::size_t begin = scheme_end + 3;
  const std::string authority = url.substr(begin, url.find_first_of("/?#", begin) - begin);
  if (authority.empty()) return Error(ErrorCode::kInvalidInput, "a server's URL needs a host");
  if (authority.find('@') != std::string::npos) {
    // Not shown: it holds what the message is about.
    return Error(ErrorCode::kInvalidInput, "a server's URL must not contain a user name or password")
        .WithHint("pass the token in a variable or file; see 'ptpkg explain publishing'");
  }
  if (Result<void> usable = CheckUrl(url); !usable)
    return std::move(usable).error().WithHint("give the whole URL: https://HOST/PATH");
  return scheme + "://" + ToLower(authority);
}

bool IsLoopback(std::string_view origin) {
  std::string_view host = origin.substr(origin.find("://") + 3);
  if (!host.starts_with('[')) host = host.substr(0, host.find(':'));
  const bool is_address = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return host == "localhost" || (host.starts_with("127.") && is_address) || host == "[::1]" ||
         host.starts_with("[::1]:");
}

std::string EncodePath(std::string_view path) {
  std::vector<std::string> parts = Split(path, '/');
  for (std::string& part : parts) part = PercentEncode(part);
  return Join(parts, "/");
}

std::string HeaderOfAnswer(const HttpAnswer& answer, const std::string& name) {
  const auto found = answer.headers.find(name);
  return found == answer.headers.end() ? "" : found->second;
}

Error AnswerError(const HttpAnswer& answer, const std::string& doing) {
  const std::string words = WordsOf(answer);
  const std::string message = fmt::format("the server answered {} when {}{}{}", answer.status, doing,
                                          words.empty() ? "" : ": ", words);
  return Error(CodeOf(answer.status), message).WithHint(std::string(HintOf(answer.status)));
}

Result<void> WaitBeforeRetry(Clock& clock, int attempt, const CancelToken& cancel) {
  // Half to whole of the pause: of many clients that were cut off at once, not all come back at once.
  const auto now = static_cast<std::uint64_t>(clock.Now().time_since_epoch().count());
  const auto longest = kFirstPause * (1U << static_cast<unsigned>(std::clamp(attempt - 2, 0, 6)));
  const auto half = static_cast<std::uint64_t>(longest.count() / 2);
  return SleepUnlessCancelled(clock, std::chrono::milliseconds(half + now / 1000 % half), cancel);
}

Result<HashedAnswer> HashAnswer(Env& env, std::uint64_t limit_bytes,
                                const std::function<Result<HttpAnswer>(ByteSink&)>& get) {
  for (int attempt = 1;; ++attempt) {
    NullSink rest(limit_bytes);
    HashingSink sink(&rest);
    auto answer = get(sink);
    if (answer) return HashedAnswer{.answer = *std::move(answer), .sha256 = sink.Finish().sha256};
    if (answer.error().code() != ErrorCode::kNetwork || attempt == kAttempts) return answer.error();
    PTPKG_CHECK(WaitBeforeRetry(env.clock, attempt + 1, env.cancel));
  }
}

Exchange::Exchange(Env& env, std::string origin, std::map<std::string, std::string> headers)
    : env_(&env), origin_(std::move(origin)), headers_(std::move(headers)) {}

void Exchange::NoteRetryAfter(const HttpAnswer& answer) {
  const auto wait = RetryAfter(answer.headers, env_->clock.WallNow());
  if (!wait) return;
  const std::lock_guard lock(mutex_);
  const auto until = env_->clock.Now() + *wait;
  if (!not_before_ || until > *not_before_) not_before_ = until;
}

Result<void> Exchange::WaitUntilAllowed() {
  std::chrono::milliseconds wait{0};
  {
    const std::lock_guard lock(mutex_);
    if (!not_before_) return Ok();
    wait = std::chrono::ceil<std::chrono::milliseconds>(*not_before_ - env_->clock.Now());
  }
  if (wait.count() <= 0) return Ok();
  if (wait > kLongestRetryAfter) {
    return Error(ErrorCode::kNetwork, fmt::format("'{}' is rate limiting: it asks to wait {} minutes",
                                                  origin_, wait.count() / 60'000))
        .WithHint("publish again later: files that arrived are skipped");
  }
  return SleepUnlessCancelled(env_->clock, wait, cancel());
}

Result<HttpAnswer> Exchange::SendOnce(const Request& request, const std::string& url) {
  HttpCall call{.method = request.method,
                .url = url,
                .headers = request.headers,
                .body_bytes = request.body.size(),
                .on_sent = request.on_sent,
                .cancel = &cancel(),
                .answer_limit_bytes = request.answer_limit_bytes,
                .answer_sink = request.answer_sink,
                .needs_answer_body = !request.body.file};
  PTPKG_TRY(const std::string origin, OriginOf(url));
  if (origin == origin_) {
    call.headers.insert(headers_.begin(), headers_.end());
    call.aws = signature_;
    // libcurl would give a proxy the token of a server on this machine, often over plain HTTP.
    call.skips_proxy = IsLoopback(origin);
  }
  if (call.body_bytes > 0) call.open_body = [&] { return OpenBody(env_->fs, request.body); };
  return env_->http.Call(call);
}

Result<HttpAnswer> Exchange::FollowRedirects(const Request& request) {
  std::string url = request.url;
  for (int redirects = 0;; ++redirects) {
    PTPKG_TRY(HttpAnswer answer, SendOnce(request, url));
    if (answer.status / 100 != 3 || answer.status == 304 || request.gives_redirects) return answer;
    const std::string location = HeaderOfAnswer(answer, "location");
    const bool harmless = request.method == "GET" || request.method == "HEAD";
    if (!harmless || location.empty() || redirects == kMostRedirects) {
      return Error(ErrorCode::kRefused,
                   fmt::format("'{}' answered {} to {}: ptpkg does not follow this redirect", origin_,
                               answer.status, request.method))
          .WithHint("if you trust that server, give its URL");
    }
    const auto next = ResolveUrl(url, location);
    const auto there = next ? OriginOf(*next) : Result<std::string>(next.error());
    if (!there) return Error(ErrorCode::kRefused, fmt::format("'{}' redirects to an invalid URL", origin_));
    PTPKG_TRY(const std::string here, OriginOf(url));
    // The caller sees the redirect itself: for a simple index it means that this index has nothing.
    if (request.stays_at_server && AuthorityOf(*there) != AuthorityOf(here)) return answer;
    url = *next;
  }
}

Result<HttpAnswer> Exchange::Send(const Request& request) {
  for (int attempt = 1;; ++attempt) {
    PTPKG_CHECK(WaitUntilAllowed());
    Result<HttpAnswer> answer = FollowRedirects(request);
    if (answer) NoteRetryAfter(*answer);
    // A sink that may have bytes of this try cannot take another one's.
    // HashAnswer repeats such requests itself, with a new sink.
    const bool sink_is_fresh = request.answer_sink == nullptr || answer.has_value();
    const bool again = ShouldRetry(answer, request.repeat) && sink_is_fresh;
    if (!again || attempt == kAttempts) return answer;
    PTPKG_CHECK(WaitBeforeRetry(env_->clock, attempt + 1, cancel()));
  }
}

}  // namespace ptpkg::publish
