// Http::Call by libcurl. Layer: support.
// No redirect is followed, and nothing is repeated except after a 417, because only the caller knows whether
// its call can be repeated. Large bodies wait for "100 Continue" (RFC 9110, 10.1.1): a server can refuse an
// upload of gigabytes before it is sent.
// A document is asked for in gzip and decoded here, not by libcurl, which takes a cut one for whole.
// Timeouts differ by phase. A server can think for minutes after a large upload, but bytes that no longer
// move mean a dead connection.

#include "support/net/http_call.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>
#include <optional>
#include <utility>
#include <vector>
#include <zlib.h>

#include "support/clock.h"
#include "support/net/curl_request.h"
#include "support/text/text.h"

namespace ptpkg {
namespace {

constexpr std::uint64_t kExpectAbove = 1U << 20U;  // as libcurl for POST; smaller bodies are sent at once
constexpr long kExpectMs = 1000;                   // many servers know nothing of Expect
constexpr long kUploadBytes = 512L * 1024L;        // libcurl's 64 KiB are eight times the calls of the source
constexpr long kExpectationFailed = 417;
constexpr std::uint64_t kMostHeaderBytes = 1U << 20U;

std::string Named(const HttpCall& call) { return fmt::format("{} '{}'", call.method, Redacted(call.url)); }

Error TooLong(const HttpCall& call) {
  return {ErrorCode::kNetwork,
          fmt::format("the answer to {} is longer than {} bytes", Named(call), call.answer_limit_bytes)};
}

/// The body as libcurl takes it: an error unless it is as long as the call says.
class UploadBody {
 public:
  explicit UploadBody(const HttpCall& call) : call_(call) {}

  /// From its first byte; again when a server refuses to be asked by Expect (417).
  Result<void> Open() {
    given_ = 0;
    PTPKG_TRY(source_, call_.open_body());
    return given_ == call_.body_bytes ? CheckEnd() : Ok();
  }

  Result<std::size_t> Read(MutableBytes buffer) {
    const std::uint64_t rest = call_.body_bytes - given_;
    if (rest == 0) return std::size_t{0};
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), rest));
    PTPKG_TRY(const std::size_t count, source_->Read(buffer.first(wanted)));
    if (count == 0) {
      return Error(ErrorCode::kIo, fmt::format("the body of {} ended after {} of {} bytes", Named(call_),
                                               given_, call_.body_bytes));
    }
    given_ += count;
    // Before the last bytes go out: the server never gets a request that looks whole.
    if (given_ == call_.body_bytes) PTPKG_CHECK(CheckEnd());
    return count;
  }

 private:
  Result<void> CheckEnd() {
    std::array<std::byte, 1> more{};
    PTPKG_TRY(const std::size_t count, source_->Read(more));
    if (count == 0) return Ok();
    return Error(ErrorCode::kIo,
                 fmt::format("the body of {} is longer than {} bytes", Named(call_), call_.body_bytes));
  }

  const HttpCall& call_;
  std::unique_ptr<ByteSource> source_;
  std::uint64_t given_ = 0;
};

enum class CallPhase { kConnecting, kSending, kWaiting, kAnswering };

/// State shared by the callbacks of one call.
struct Exchange {
  Exchange(CURL* handle, const HttpCall& of, const HttpLimits& within)
      : easy(handle), call(of), limits(within), body(of) {}

  CURL* easy;
  const HttpCall& call;
  const HttpLimits& limits;
  UploadBody body;
  HttpAnswer answer;      // what came of the last one: one with status 1xx comes before
  bool is_early = false;  // it began before the body was sent
  bool has_head = false;  // the whole of it
  std::uint64_t header_bytes = 0;
  std::uint64_t received = 0;
  std::optional<Error> error;  // of a callback: why libcurl was told to end
  // Time limits of the phases. libcurl's limit on low speed knows no phases.
  std::unique_ptr<Clock> clock = MakeOsClock();
  CallPhase phase = CallPhase::kConnecting;
  std::uint64_t sent = 0;
  std::uint64_t moved = 0;
  std::chrono::steady_clock::time_point since;

  /// Keeps the error for the end of the call.
  bool Passed(Result<void> result) {
    if (result) return true;
    error = std::move(result).error();
    return false;
  }
};

CallPhase PhaseOf(const Exchange& exchange, std::uint64_t sent) {
  if (exchange.answer.status >= 200) return CallPhase::kAnswering;
  curl_off_t before_request = 0;  // microseconds; 0 until there is a connection to send the request by
  curl_easy_getinfo(exchange.easy, CURLINFO_PRETRANSFER_TIME_T, &before_request);
  if (before_request == 0) return CallPhase::kConnecting;  // connect_timeout is libcurl's matter
  return sent < exchange.call.body_bytes ? CallPhase::kSending : CallPhase::kWaiting;
}

std::string Seconds(std::chrono::milliseconds duration) {
  return fmt::format("{:g} s", std::chrono::duration<double>(duration).count());
}

/// libcurl asks at least once a second.
Result<void> Watch(Exchange& exchange, std::uint64_t sent) {
  const HttpCall& call = exchange.call;
  if (call.cancel != nullptr) PTPKG_CHECK(call.cancel->Check());
  if (sent > exchange.sent) {
    exchange.sent = sent;
    if (call.on_sent) call.on_sent(sent);
  }
  const CallPhase phase = PhaseOf(exchange, sent);
  const std::uint64_t moved = sent + exchange.received;
  const auto now = exchange.clock->Now();
  const bool is_waiting = phase == CallPhase::kWaiting;
  if (phase != exchange.phase || (moved != exchange.moved && !is_waiting)) {
    exchange.phase = phase;
    exchange.moved = moved;
    exchange.since = now;
    return Ok();
  }
  const std::chrono::milliseconds limit =
      is_waiting ? exchange.limits.answer_timeout : exchange.limits.stall_timeout;
  if (phase == CallPhase::kConnecting || now - exchange.since <= limit) return Ok();
  return Error(
      ErrorCode::kNetwork,
      is_waiting ? fmt::format("{} failed: sent, but there was no answer for {}", Named(call), Seconds(limit))
                 : fmt::format("{} failed: no byte was {} for {}", Named(call),
                               phase == CallPhase::kSending ? "taken" : "received", Seconds(limit)));
}

int OnCallProgress(void* user, curl_off_t /*total*/, curl_off_t /*done*/, curl_off_t /*up_total*/,
                   curl_off_t up_done) {
  auto& exchange = *static_cast<Exchange*>(user);
  return exchange.Passed(Watch(exchange, static_cast<std::uint64_t>(up_done))) ? 0 : 1;
}

std::size_t OnBodyWanted(char* buffer, std::size_t size, std::size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  auto got = exchange.body.Read(std::as_writable_bytes(std::span(buffer, size * count)));
  if (got) return *got;
  exchange.error = std::move(got).error();
  return CURL_READFUNC_ABORT;
}

int OnBodyWantedAgain(void* user, curl_off_t offset, int origin) {
  auto& exchange = *static_cast<Exchange*>(user);
  if (offset != 0 || origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
  return exchange.Passed(exchange.body.Open()) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

/// "HTTP/1.1 413 Too Large"
long StatusOfLine(std::string_view line) {
  const std::string_view digits = line.substr(std::min(line.find(' '), line.size() - 1) + 1);
  long status = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), status);
  return failed == std::errc() && end != digits.data() ? status : 0;
}

std::size_t OnAnswerHeader(char* data, std::size_t size, std::size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  const std::string_view line(data, size * count);
  exchange.received += line.size();
  exchange.header_bytes += line.size();
  if (exchange.header_bytes > kMostHeaderBytes) {
    exchange.error =
        Error(ErrorCode::kNetwork, fmt::format("the headers of the answer to {} are longer than {} bytes",
                                               Named(exchange.call), kMostHeaderBytes));
    return 0;
  }
  if (line.starts_with("HTTP/")) {
    // A new status line begins another answer: 1xx comes before the real one.
    exchange.answer = {.status = StatusOfLine(line)};
    curl_off_t sent = 0;
    curl_easy_getinfo(exchange.easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    exchange.is_early = static_cast<std::uint64_t>(sent) < exchange.call.body_bytes;
    exchange.has_head = false;
  }
  if (line == "\r\n" || line == "\n") exchange.has_head = true;
  TakeHeaderLine(line, exchange.answer.headers);
  return line.size();
}

std::size_t OnAnswerBody(char* data, std::size_t size, std::size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  const std::size_t bytes = size * count;
  exchange.received += bytes;
  if (exchange.call.answer_sink != nullptr && exchange.answer.status / 100 == 2) {
    const bool taken = exchange.Passed(exchange.call.answer_sink->Write(AsBytes({data, bytes})));
    return taken ? bytes : (bytes == 0 ? 1 : 0);
  }
  std::string& body = exchange.answer.body;
  if (bytes > exchange.call.answer_limit_bytes - body.size()) {
    exchange.error = TooLong(exchange.call);
    return bytes == 0 ? 1 : 0;
  }
  body.append(data, bytes);
  return bytes;
}

bool HasBody(const HttpCall& call) {
  return call.open_body || call.method == "PUT" || call.method == "POST" || call.method == "PATCH";
}

/// REQUIRES of HttpCall::aws: a wrong signature would only be refused by the server, with other words.
Result<void> CheckSignedCall(const HttpCall& call) {
  const auto lacks = [&](std::string_view wanted) {
    return std::ranges::none_of(call.headers, [&](const auto& one) { return ToLower(one.first) == wanted; });
  };
  if (lacks("x-amz-content-sha256") || (HasBody(call) && lacks("content-type"))) {
    return Error(
        ErrorCode::kInvalidInput,
        fmt::format("a signed {} needs x-amz-content-sha256, and Content-Type with a body", Named(call)));
  }
  const std::size_t mark = call.url.find('?');
  if (mark == std::string::npos) return Ok();
  const std::vector<std::string> parameters = Split(call.url.substr(mark + 1), '&');
  const auto name_of = [](const std::string& parameter) { return parameter.substr(0, parameter.find('=')); };
  const bool have_values = std::ranges::all_of(
      parameters, [](const std::string& one) { return one.find('=') != std::string::npos; });
  if (have_values && std::ranges::is_sorted(parameters, {}, name_of)) return Ok();
  return Error(
      ErrorCode::kInvalidInput,
      fmt::format("the query of a signed {} is not in order, or has a name without '='", Named(call)));
}

Result<void> CheckCall(const HttpCall& call) {
  constexpr std::array<std::string_view, 6> kMethods{"GET", "HEAD", "PUT", "POST", "PATCH", "DELETE"};
  if (std::find(kMethods.begin(), kMethods.end(), call.method) == kMethods.end()) {
    return Error(ErrorCode::kInvalidInput, "not a method of HTTP that ptpkg knows");
  }
  if (call.open_body && (call.method == "GET" || call.method == "HEAD")) {
    return Error(ErrorCode::kInvalidInput, fmt::format("{} takes no body", call.method));
  }
  if (!call.open_body && call.body_bytes > 0) {
    return Error(ErrorCode::kInvalidInput, fmt::format("the body of {} is missing", Named(call)));
  }
  if (call.aws) PTPKG_CHECK(CheckSignedCall(call));
  for (const auto& [name, value] : call.headers) {
    // They say how long the body is, and when it is sent: two that differ would be two requests.
    for (const std::string_view own : {"content-length", "transfer-encoding", "expect"}) {
      if (ToLower(name) == own) {
        return Error(ErrorCode::kInvalidInput,
                     fmt::format("HTTP header '{}' is not the caller's to set", name));
      }
    }
  }
  return Ok();
}

bool WantsPlainBytes(const HttpCall& call) { return call.answer_sink != nullptr || call.method == "HEAD"; }

/// Signs all `headers`: those that a proxy may change (User-Agent, Expect, Accept-Encoding) must not be among
/// them.
/// Errors: kUnsupported for a libcurl without signatures, which would send the keys by Basic authentication.
Result<void> SetSignature(CURL* easy, const AwsSignature& aws) {
  // NOLINTBEGIN(cppcoreguidelines-pro-type-vararg): the interface of libcurl.
  const CURLcode set =
      curl_easy_setopt(easy, CURLOPT_AWS_SIGV4, fmt::format("aws:amz:{}:s3", aws.region).c_str());
  if (set != CURLE_OK) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("libcurl {} cannot sign requests to S3: {}",
                             curl_version_info(CURLVERSION_NOW)->version, curl_easy_strerror(set)))
        .WithHint("install libcurl 7.75 or later with AWS SigV4");
  }
  curl_easy_setopt(easy, CURLOPT_USERNAME, aws.keys.id.Reveal().c_str());
  curl_easy_setopt(easy, CURLOPT_PASSWORD, aws.keys.key.Reveal().c_str());
  // NOLINTEND(cppcoreguidelines-pro-type-vararg)
  return Ok();
}

/// The method, and whether there is a body.
void SetMethod(CURL* easy, const HttpCall& call) {
  // NOLINTBEGIN(cppcoreguidelines-pro-type-vararg): the interface of libcurl.
  const auto body_bytes = static_cast<curl_off_t>(call.body_bytes);
  if (call.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    return;
  }
  if (HasBody(call) && call.aws) {
    // With POST, libcurl sends Expect only before a large body. A header that forbids it would be signed.
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, body_bytes);
  } else if (HasBody(call)) {
    // An upload whatever the method: CURLOPT_POST would add a Content-Type.
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, body_bytes);
  }
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  // NOLINTEND(cppcoreguidelines-pro-type-vararg)
}

void SetCallOptions(Exchange& exchange, curl_slist* headers, bool asks) {
  CURL* easy = exchange.easy;
  const HttpCall& call = exchange.call;
  SetCommonOptions(easy, call.url, headers, exchange.limits);
  // NOLINTBEGIN(cppcoreguidelines-pro-type-vararg): the interface of libcurl.
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  curl_easy_setopt(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  // HTTP/2 has no Expect, and nothing to win for one request by a connection. HTTP/1.0 has none either: a
  // signed request can be without only by that.
  const bool forbids_expect = call.aws && !asks && call.body_bytes > kExpectAbove;
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                   static_cast<long>(forbids_expect ? CURL_HTTP_VERSION_1_0 : CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);  // routers forget a connection that waits for minutes
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // a proxy's "200" is no answer
  if (call.skips_proxy) curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, WantsPlainBytes(call) ? "identity" : "gzip");
  curl_easy_setopt(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);  // see Decode
  SetMethod(easy, call);
  curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, kUploadBytes);
  curl_easy_setopt(easy, CURLOPT_EXPECT_100_TIMEOUT_MS, kExpectMs);
  curl_easy_setopt(easy, CURLOPT_READFUNCTION, &OnBodyWanted);
  curl_easy_setopt(easy, CURLOPT_READDATA, &exchange);
  curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, &OnBodyWantedAgain);
  curl_easy_setopt(easy, CURLOPT_SEEKDATA, &exchange);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &OnAnswerHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &OnAnswerBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, &OnCallProgress);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &exchange);
  // NOLINTEND(cppcoreguidelines-pro-type-vararg)
}

/// A server that refuses a body need not read it: it answers, and closes. Then the connection fails while the
/// rest is sent, or resets before the answer's end is read, also where libcurl counts as sent what still lay
/// in the socket (up to 4 MiB).
bool IsRefusalOfBody(const Exchange& exchange, CURLcode code) {
  if (exchange.answer.status < 300 || exchange.call.body_bytes == 0) return false;
  return code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR ||
         (code == CURLE_PARTIAL_FILE && exchange.is_early);
}

constexpr int kLargestWindow = 15;
constexpr int kGzipOrZlib = kLargestWindow + 32;
constexpr int kRawDeflate = -kLargestWindow;

/// The content of a body in the format of `window_bits` (inflateInit2); nullopt where it is damaged or cut.
/// `packed` does not change: zlib takes no constant bytes.
Result<std::optional<std::string>> Inflated(const HttpCall& call, std::string& packed, int window_bits) {
  constexpr std::size_t kBlock = 64U << 10U;
  z_stream stream{};
  if (inflateInit2(&stream, window_bits) != Z_OK) return Error(ErrorCode::kIo, "out of memory");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, &inflateEnd);
  std::string plain;
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  int status = Z_OK;
  while (status == Z_OK) {
    const std::size_t done = plain.size();
    if (done > call.answer_limit_bytes) return TooLong(call);
    plain.resize(done + kBlock);
    stream.next_out = reinterpret_cast<Bytef*>(plain.data() + done);
    stream.avail_out = kBlock;
    status = inflate(&stream, Z_NO_FLUSH);
    plain.resize(plain.size() - stream.avail_out);
    // Another member can follow (RFC 1952, 2.2).
    if (status == Z_STREAM_END && stream.avail_in > 0) status = inflateReset(&stream);
  }
  if (plain.size() > call.answer_limit_bytes) return TooLong(call);
  return status == Z_STREAM_END ? std::optional(std::move(plain)) : std::nullopt;
}

/// Content-Encoding in lower case, without the codings that change nothing (RFC 9110, 8.4; "none" is of
/// libcurl): "identity, GZip" → "gzip".
std::string CodingOf(const HttpAnswer& answer) {
  const auto header = answer.headers.find("content-encoding");
  if (header == answer.headers.end()) return "";
  std::vector<std::string> codings;
  for (const std::string& part : Split(ToLower(header->second), ',')) {
    const std::string_view coding = Trim(part);
    if (!coding.empty() && coding != "identity" && coding != "none") codings.emplace_back(coding);
  }
  return Join(codings, ", ");
}

/// Decodes the body. One that cannot be decoded is an error only where somebody wants the document; a refusal
/// is then told by its status alone.
Result<HttpAnswer> Decode(const HttpCall& call, HttpAnswer answer) {
  const std::string coding = CodingOf(answer);
  if (WantsPlainBytes(call) || answer.body.empty() || coding.empty()) return answer;
  const bool is_wanted = call.needs_answer_body && answer.status / 100 == 2;
  const bool is_known = coding == "gzip" || coding == "x-gzip" || coding == "deflate";
  Result<std::optional<std::string>> read = std::optional<std::string>();
  if (is_known) read = Inflated(call, answer.body, kGzipOrZlib);
  // "deflate" means zlib's format, but some servers leave its frame out.
  if (coding == "deflate" && read && !*read) read = Inflated(call, answer.body, kRawDeflate);
  if (!read && is_wanted) return std::move(read).error();
  std::optional<std::string> plain = read ? *std::move(read) : std::nullopt;
  if (!plain && is_wanted) {
    if (!is_known) {
      return Error(
                 ErrorCode::kUnsupported,
                 fmt::format("{} failed: the server compressed the answer as '{}', but ptpkg asked for gzip",
                             Named(call), coding))
          .WithHint("have the server, or the proxy in between, honour Accept-Encoding");
    }
    return Error(ErrorCode::kNetwork,
                 fmt::format("{} failed: the server's compressed answer ({}) is damaged or cut", Named(call),
                             coding))
        .WithHint("try again; if the error stays, check the server and the proxy in between");
  }
  answer.body = std::move(plain).value_or("");
  return answer;
}

Result<HttpAnswer> SendOnce(const HttpCall& call, const HttpLimits& limits, bool asks) {
  std::map<std::string, std::string> all = call.headers;
  if (!call.aws) {
    all["Expect"] = asks ? "100-continue" : "";  // libcurl asks before every PUT
  } else if (!call.aws->keys.session_token.empty()) {
    all["x-amz-security-token"] = call.aws->keys.session_token.Reveal();
  }
  PTPKG_TRY(const CurlHeaders headers, BuildHeaders(all));
  CurlFailure failure{.lead = Named(call) + " failed", .wanted = "called", .schemes = "https:// or http://"};
  if (!StartsWithNoCase(call.url, "http://") && !StartsWithNoCase(call.url, "https://")) {
    failure.code = CURLE_UNSUPPORTED_PROTOCOL;  // libcurl would guess
    return RequestError(call.url, limits, failure);
  }
  if (call.cancel != nullptr) PTPKG_CHECK(call.cancel->Check());
  const CurlHandle easy = NewCurlHandle();
  if (easy == nullptr) return Error(ErrorCode::kIo, "cannot set up libcurl");
  Exchange exchange(easy.get(), call, limits);
  if (call.open_body) PTPKG_CHECK(exchange.body.Open());
  SetCallOptions(exchange, headers.get(), asks);
  if (call.aws) PTPKG_CHECK(SetSignature(easy.get(), *call.aws));
  std::array<char, CURL_ERROR_SIZE> detail{};
  curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, detail.data());

  failure.code = curl_easy_perform(easy.get());
  // libcurl takes the end of the connection for the end of the head.
  if (failure.code == CURLE_OK && !exchange.has_head) failure.code = CURLE_PARTIAL_FILE;
  failure.detail = detail.data();
  if (exchange.error) return *std::move(exchange.error);
  if (failure.code == CURLE_OK || IsRefusalOfBody(exchange, failure.code))
    return Decode(call, std::move(exchange.answer));
  return RequestError(call.url, limits, failure);
}

}  // namespace

Result<HttpAnswer> CallByCurl(const HttpCall& call, const HttpLimits& limits) {
  PTPKG_CHECK(CheckCall(call));
  const SigpipeGuard guard;
  const bool asks = call.body_bytes > kExpectAbove;
  Result<HttpAnswer> answer = SendOnce(call, limits, asks);
  // A server that does not know Expect did nothing yet (RFC 9110, 15.5.18). libcurl sees to it itself only
  // where the connection stays.
  if (asks && answer && answer->status == kExpectationFailed) return SendOnce(call, limits, false);
  return answer;
}

}  // namespace ptpkg
