// HTTP by libcurl. Layer: support.
// Get resumes a broken transfer: it asks for the rest by Range with If-Range (RFC 9110, 13.1.5 and 14.2). A
// server answers with 206 and the rest, or with 200 and the whole file if that has changed.
// Neither answer is trusted. A 206 must continue the same file (GoesOn). Bytes that come again must equal
// those already delivered, which checksums of the parts show without keeping the bytes. A sink can't take
// anything back, so a changed file is an error, unless the caller accepts a restart (on_begin).
// Invariant: Delivery::bytes() is the number of bytes in the sink, and each attempt skips as many.

#include "support/net/http.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "support/net/curl_request.h"
#include "support/net/http_call.h"
#include "support/net/retry_after.h"

namespace ptpkg {
namespace {

constexpr int kAttempts = 3;       // that bring nothing new
constexpr int kMostAttempts = 20;  // that bring little: a server that gives a byte each time ends somewhere
constexpr std::uint64_t kMuch = 64U << 10U;  // bytes of an answer that does not count among these
constexpr long kMaxRedirects = 10;
constexpr long kWholeStatus = 200;  // of file: too, which has no status of its own
constexpr int kMostRestarts = 2;    // of a body that changes while it is fetched
constexpr long kPartialStatus = 206;

/// FNV-1a, 64 bits: detects a file that changes between two attempts. Against an attacker, recipes declare a
/// digest.
class Checksum {
 public:
  void Add(std::string_view bytes) {
    for (const char c : bytes) value_ = (value_ ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037U;
};

/// Content of the sink: from all attempts of one Get, and from an earlier request.
class Delivery {
 public:
  Delivery(ByteSink& sink, std::uint64_t resume_at)
      : sink_(sink), bytes_(resume_at), resumed_(resume_at > 0) {}

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// The first bytes are of an earlier request: nothing can be compared with them.
  [[nodiscard]] bool resumed() const { return resumed_; }

  /// The sink heard where its next byte belongs.
  bool told = false;

  /// The body begins at 0 after all.
  void Restart() {
    bytes_ = 0;
    resumed_ = false;
    told = false;
    checksum_ = Checksum();
    parts_.clear();
  }

  Result<void> Write(std::string_view bytes) {
    PTPKG_CHECK(sink_.Write(AsBytes(bytes)));
    checksum_.Add(bytes);
    bytes_ += bytes.size();
    return Ok();
  }

  /// An attempt begins; the next bytes are those from bytes() on.
  void BeginPart() {
    if (bytes_ > (parts_.empty() ? 0 : parts_.back().end)) parts_.push_back({bytes_, checksum_.value()});
    checksum_ = Checksum();
  }

  /// True if bytes that the server sends again equal those in the sink, so far. `at`: of `bytes` in the
  /// body; at most up to bytes().
  bool IsSame(std::uint64_t at, std::string_view bytes) {
    if (at == 0) {
      again_ = Checksum();
      part_ = 0;
    }
    // Checksums exist only for whole parts, so a repeated part is judged at its end.
    while (!bytes.empty() && part_ < parts_.size()) {
      const auto count =
          static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), parts_[part_].end - at));
      again_.Add(bytes.substr(0, count));
      bytes.remove_prefix(count);
      at += count;
      if (at < parts_[part_].end) continue;
      if (again_.value() != parts_[part_].checksum) return false;
      again_ = Checksum();
      ++part_;
    }
    return true;
  }

 private:
  struct Part {
    std::uint64_t end = 0;
    std::uint64_t checksum = 0;  // of the bytes since the part before
  };

  ByteSink& sink_;
  std::uint64_t bytes_;
  bool resumed_;
  Checksum checksum_;
  std::vector<Part> parts_;
  Checksum again_;
  std::size_t part_ = 0;
};

/// Facts about the server's file when its rest is requested.
struct Resumption {
  std::string version = {};                  ///< Value for If-Range; "": none.
  std::uint64_t total = 0;                   ///< 0: not known.
  std::optional<std::string> encoding = {};  ///< Content-Encoding of the first answer of this request.
  bool is_useful = true;                     ///< False once the server has failed at a range.

  /// An ETag is no time: servers leave either out of a 206.
  [[nodiscard]] bool is_same_kind(const std::string& other) const {
    return !other.empty() && !version.empty() && other.starts_with('"') == version.starts_with('"');
  }
};

/// State shared by the callbacks of one attempt.
struct Transfer {
  CURL* easy = nullptr;
  const HttpRequest* request = nullptr;
  Delivery* delivery = nullptr;
  Resumption* resumption = nullptr;
  bool is_file = false;
  bool asks_for_rest = false;
  bool is_useless = false;     // an answer to a range of which the sink can take nothing
  bool is_changed = false;     // the body is another one than that of an earlier attempt
  bool has_begun = false;      // a body that is wanted
  bool has_head = false;       // the whole of it
  std::uint64_t position = 0;  // of the next byte in the server's file
  std::uint64_t total = 0;     // by Content-Range; 0 = not known
  std::uint64_t last_progress = UINT64_MAX;
  std::optional<Error> sink_error;
  HttpResponse response;

  [[nodiscard]] long Status() const {
    if (is_file) return kWholeStatus;
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
  }
  [[nodiscard]] bool IsSuccess() const { return Status() / 100 == 2; }
  [[nodiscard]] bool Cancelled() const { return request->cancel != nullptr && request->cancel->cancelled(); }
};

std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) transfer.has_head = false;
  if (line == "\r\n" || line == "\n") transfer.has_head = true;
  TakeHeaderLine(line, transfer.response.headers);
  return line.size();
}

Error Changed(const std::string& url) {
  return {ErrorCode::kNetwork, fmt::format("'{}' changed on the server while it was fetched", Redacted(url))};
}

/// Content-Range of a 206, "bytes 100-199/200".
struct PartRange {
  std::uint64_t begin = 0;
  std::optional<std::uint64_t> total = {};  ///< nullopt: "*", the server does not tell.
};

/// nullopt for anything else.
std::optional<PartRange> RangeOf(const HttpResponse& response) {
  const auto header = response.headers.find("content-range");
  if (header == response.headers.end() || !header->second.starts_with("bytes ")) return std::nullopt;
  const std::string_view text = std::string_view(header->second).substr(6);
  const auto number = [](std::string_view digits) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = status == std::errc() && end == digits.data() + digits.size();
    return whole ? std::optional(value) : std::nullopt;
  };
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  const auto begin = number(text.substr(0, dash));
  if (!begin || dash == std::string_view::npos || slash == std::string_view::npos) return std::nullopt;
  return PartRange{.begin = *begin, .total = number(text.substr(slash + 1))};
}

std::string HeaderOf(const HttpResponse& response, const std::string& name) {
  const auto found = response.headers.find(name);
  return found == response.headers.end() ? "" : found->second;
}

/// An ETag that promises equal bytes, else the time of the last change; "" if the server names neither.
std::string VersionOf(const HttpResponse& response) {
  const std::string tag = HeaderOf(response, "etag");
  return tag.empty() || tag.starts_with("W/") ? HeaderOf(response, "last-modified") : tag;
}

/// True if a 206 continues the file whose start the sink has. Servers exist that answer with another
/// part, with a part of another file, or with one that is encoded otherwise.
bool GoesOn(const Transfer& transfer) {
  const auto range = RangeOf(transfer.response);
  const Resumption& asked = *transfer.resumption;
  if (!range || range->begin != transfer.delivery->bytes()) return false;
  const bool other_total = range->total && asked.total > 0 && *range->total != asked.total;
  const std::string version = VersionOf(transfer.response);
  const bool other_version = asked.is_same_kind(version) && version != asked.version;
  const bool other_encoding =
      asked.encoding && HeaderOf(transfer.response, "content-encoding") != *asked.encoding;
  return !other_total && !other_version && !other_encoding;
}

/// The body goes on where the sink is, or begins at 0: then it repeats what the sink has of this request, or
/// takes the place of what it has of an earlier one.
Result<void> BeginBody(Transfer& transfer) {
  transfer.has_begun = true;
  Delivery& delivery = *transfer.delivery;
  if (transfer.Status() == kPartialStatus) {
    const auto range = RangeOf(transfer.response);
    transfer.position = range ? range->begin : 0;
    if (range && range->total) transfer.total = *range->total;
    if (!transfer.asks_for_rest && transfer.position > 0) {
      return Error(ErrorCode::kNetwork,
                   fmt::format("the server sent only a part of '{}', for which it was not asked",
                               Redacted(transfer.request->url)));
    }
  } else if (delivery.resumed()) {
    delivery.Restart();
  }
  if (delivery.told) return Ok();
  delivery.told = true;
  if (!transfer.request->on_begin) return Ok();
  return transfer.request->on_begin({.offset = delivery.bytes(), .version = VersionOf(transfer.response)});
}

Result<void> TakeBody(Transfer& transfer, std::string_view bytes) {
  if (!transfer.has_begun) PTPKG_CHECK(BeginBody(transfer));
  Delivery& delivery = *transfer.delivery;
  if (transfer.position < delivery.bytes()) {
    const auto known =
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), delivery.bytes() - transfer.position));
    if (!delivery.IsSame(transfer.position, bytes.substr(0, known))) {
      transfer.is_changed = true;
      return Changed(transfer.request->url);
    }
    transfer.position += known;
    bytes.remove_prefix(known);
  }
  transfer.position += bytes.size();
  return bytes.empty() ? Ok() : delivery.Write(bytes);
}

std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t bytes = size * count;
  if (!transfer.IsSuccess()) return bytes;  // an error page is nobody's download
  if (transfer.asks_for_rest && !transfer.has_begun && transfer.Status() != kWholeStatus &&
      !GoesOn(transfer)) {
    transfer.is_useless = true;
    return bytes == 0 ? 1 : 0;
  }
  Result<void> taken = TakeBody(transfer, {data, bytes});
  if (taken) return bytes;
  transfer.sink_error = std::move(taken).error();
  return bytes == 0 ? 1 : 0;
}

int OnProgress(void* user, curl_off_t total, curl_off_t done, curl_off_t /*up_total*/,
               curl_off_t /*up_done*/) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.Cancelled()) return 1;
  const std::uint64_t bytes = transfer.delivery->bytes();
  if (transfer.request->on_progress && bytes != transfer.last_progress && transfer.has_begun) {
    transfer.last_progress = bytes;
    // libcurl counts what this attempt transfers.
    const std::uint64_t before =
        transfer.position - std::min(transfer.position, static_cast<std::uint64_t>(done));
    transfer.request->on_progress(bytes, total == 0 ? 0 : before + static_cast<std::uint64_t>(total));
  }
  return 0;
}

void SetOptions(Transfer& transfer, const HttpLimits& limits, curl_slist* headers) {
  CURL* easy = transfer.easy;
  SetCommonOptions(easy, transfer.request->url, headers, limits);
  // NOLINTBEGIN(cppcoreguidelines-pro-type-vararg): the interface of libcurl.
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https,file");
  curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(easy, CURLOPT_MAXREDIRS, kMaxRedirects);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, limits.stall_timeout.count());
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, &OnProgress);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &transfer);
  // NOLINTEND(cppcoreguidelines-pro-type-vararg)
}

Error StatusError(const std::string& url, long status) {
  const std::string message = fmt::format("the server answered {} for '{}'", status, Redacted(url));
  if (status == 404 || status == 410) return {ErrorCode::kNotFound, message};
  if (status == 401 || status == 403 || status == 407) {
    return Error(ErrorCode::kRefused, message).WithHint("check the credentials for this server");
  }
  return {status / 100 == 4 ? ErrorCode::kRefused : ErrorCode::kNetwork, message};
}

/// Errors that another attempt can mend. A redirect loop or a bad certificate will not change.
bool IsWorthRetrying(CURLcode code, long status) {
  switch (code) {
    case CURLE_OK:
      return status / 100 == 5 || status == 408 || status == 429;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return true;
    default:
      return false;
  }
}

struct Attempt {
  Result<HttpResponse> result;
  bool retry = false;
  std::string version = {};  ///< Version of the file whose body was cut.
  bool is_useless = false;   ///< See Transfer; the next one as well.
  bool is_changed = false;
  std::optional<std::chrono::seconds> wait = {};  ///< Retry-After.
};

class CurlHttp final : public Http {
 public:
  explicit CurlHttp(HttpLimits limits) : limits_(std::move(limits)) {}

  Result<HttpResponse> Get(const HttpRequest& request, ByteSink& sink) override {
    const SigpipeGuard guard;
    Delivery delivery(sink, request.resume_at);
    Resumption resumption{.version = request.resume_version};
    auto pause = limits_.retry_pause;
    const std::unique_ptr<Clock> clock = MakeOsClock();
    const CancelToken never;
    int fruitless = 0;
    int small = 0;
    int restarts = 0;
    while (true) {
      if (request.cancel != nullptr) PTPKG_CHECK(request.cancel->Check());
      // The last attempt asks for the whole: perhaps it is ranges that the server cannot do.
      const bool asks_for_rest = delivery.bytes() > 0 && !resumption.version.empty() &&
                                 resumption.is_useful && fruitless + 1 < kAttempts;
      const std::uint64_t before = delivery.bytes();
      PTPKG_TRY(Attempt attempt, TryOnce(request, delivery, resumption, asks_for_rest));
      if (attempt.is_useless) {
        resumption.is_useful = false;
        continue;
      }
      if (attempt.is_changed && request.on_begin && restarts++ < kMostRestarts) {
        delivery.Restart();
        resumption = {};
        continue;
      }
      // Progress starts the count anew: a transfer of hours may break often, as long as it advances.
      if (delivery.bytes() > before) {
        fruitless = 0;
        pause = limits_.retry_pause;
      }
      if (delivery.bytes() - before < kMuch) ++small;
      if (!attempt.retry || ++fruitless == kAttempts || small >= kMostAttempts)
        return std::move(attempt.result);
      if (attempt.wait && *attempt.wait > kLongestRetryAfter) return std::move(attempt.result);
      if (!attempt.version.empty()) resumption.version = attempt.version;
      const auto wait =
          std::max<std::chrono::milliseconds>(pause, attempt.wait.value_or(std::chrono::seconds(0)));
      PTPKG_CHECK(SleepUnlessCancelled(*clock, wait, request.cancel == nullptr ? never : *request.cancel));
      pause *= 2;
    }
  }

  Result<HttpAnswer> Call(const HttpCall& call) override { return CallByCurl(call, limits_); }

 private:
  /// Errors: a header that is none.
  Result<Attempt> TryOnce(const HttpRequest& request, Delivery& delivery, Resumption& resumption,
                          bool asks_for_rest) const {
    std::map<std::string, std::string> all = request.headers;
    all.emplace("Accept-Encoding", "identity");  // whoever compares digests wants the file's own bytes
    if (asks_for_rest) {
      all["Range"] = fmt::format("bytes={}-", delivery.bytes());
      all["If-Range"] = resumption.version;
    }
    PTPKG_TRY(const CurlHeaders headers, BuildHeaders(all));
    // A handle per attempt: handles hold cookies and connections, and serve one thread only.
    const CurlHandle easy = NewCurlHandle();
    if (easy == nullptr) return Error(ErrorCode::kIo, "cannot set up libcurl");
    Transfer transfer;
    transfer.easy = easy.get();
    transfer.request = &request;
    transfer.delivery = &delivery;
    transfer.resumption = &resumption;
    transfer.asks_for_rest = asks_for_rest;
    delivery.BeginPart();
    transfer.is_file = StartsWithNoCase(request.url, "file:");
    SetOptions(transfer, limits_, headers.get());
    std::array<char, CURL_ERROR_SIZE> detail{};
    curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, detail.data());
    CURLcode code = curl_easy_perform(easy.get());
    // libcurl takes the end of the connection for the end of the head.
    if (code == CURLE_OK && !transfer.is_file && !transfer.has_head) code = CURLE_PARTIAL_FILE;
    return Judge(transfer, code, detail.data());
  }

  /// Result of an attempt.
  [[nodiscard]] Attempt Judge(Transfer& transfer, CURLcode code, const char* detail) const {
    const std::string& url = transfer.request->url;
    if (transfer.is_useless) return {.result = Changed(url), .is_useless = true};
    if (transfer.sink_error)
      return {.result = *std::move(transfer.sink_error), .is_changed = transfer.is_changed};
    if (code == CURLE_ABORTED_BY_CALLBACK) return {.result = Error(ErrorCode::kCancelled, "interrupted")};
    const long status = transfer.Status();
    const bool retry = IsWorthRetrying(code, status);
    const std::string version = transfer.has_begun ? VersionOf(transfer.response) : "";
    if (transfer.has_begun && status == kWholeStatus) NoteFirst(transfer);
    if (code != CURLE_OK) {
      return {.result = RequestError(url, limits_,
                                     {.code = code,
                                      .detail = detail,
                                      .lead = fmt::format("cannot fetch '{}'", Redacted(url)),
                                      .wanted = "fetched",
                                      .schemes = "https://, http:// or file://"}),
              .retry = retry,
              .version = version};
    }
    if (!transfer.IsSuccess()) {
      return {.result = StatusError(url, status),
              .retry = retry,
              .is_useless = transfer.asks_for_rest && (!retry || status == 501 || status == 505),
              .wait = RetryAfter(transfer.response.headers, MakeOsClock()->WallNow())};
    }
    if (!transfer.has_begun) {  // an empty body
      if (transfer.asks_for_rest && status != kWholeStatus && !GoesOn(transfer))
        return {.result = Changed(url), .is_useless = true};
      Result<void> begun = BeginBody(transfer);
      if (!begun) return {.result = std::move(begun).error()};
    }
    if (transfer.position < transfer.delivery->bytes()) return {.result = Changed(url), .is_changed = true};
    const std::uint64_t total =
        std::max(transfer.total, transfer.asks_for_rest ? transfer.resumption->total : 0);
    if (status == kPartialStatus && transfer.position < total) {
      return {.result = Error(ErrorCode::kNetwork, fmt::format("the server sent {} of {} bytes of '{}'",
                                                               transfer.position, total, Redacted(url))),
              .retry = true,
              .version = version};
    }
    transfer.response.status = status;
    return {.result = std::move(transfer.response)};
  }

  /// Size and encoding of the whole, with which answers to ranges are compared.
  static void NoteFirst(const Transfer& transfer) {
    Resumption& resumption = *transfer.resumption;
    resumption.encoding = HeaderOf(transfer.response, "content-encoding");
    const std::string length = HeaderOf(transfer.response, "content-length");
    static_cast<void>(std::from_chars(length.data(), length.data() + length.size(), resumption.total));
  }

  HttpLimits limits_;
};

}  // namespace

std::unique_ptr<Http> MakeCurlHttp(const HttpLimits& limits) { return std::make_unique<CurlHttp>(limits); }

}  // namespace ptpkg
