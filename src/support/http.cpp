// HTTP by libcurl. Layer: support.

#include "support/http.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "support/curl_request.h"
#include "support/http_call.h"

namespace ptpkg {
namespace {

constexpr int kAttempts = 3;       // that bring nothing new
constexpr int kMostAttempts = 20;  // a server that gives a byte each time ends somewhere
constexpr long kMaxRedirects = 10;
constexpr long kFileStatus = 200;  // file: has no status of its own
constexpr long kPartialStatus = 206;
constexpr long kNoSuchRangeStatus = 416;

/// FNV-1a, 64 bits: against a file that changes between two attempts. Who wants to deceive is met by the
/// digest that a recipe declares.
class Checksum {
 public:
  void Add(std::string_view bytes) {
    for (const char c : bytes) value_ = (value_ ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037U;
};

/// What the sink has: of all attempts of one Get, and of an earlier request.
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

  /// Where the server sends again what the sink has: true as long as it is the same. `at`: of `bytes` in the
  /// body; at most up to bytes().
  bool IsSame(std::uint64_t at, std::string_view bytes) {
    if (at == 0) {
      again_ = Checksum();
      part_ = 0;
    }
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

/// What the callbacks of one attempt share.
struct Transfer {
  CURL* easy = nullptr;
  const HttpRequest* request = nullptr;
  Delivery* delivery = nullptr;
  bool is_file = false;
  bool has_begun = false;      // a body that is wanted
  std::uint64_t position = 0;  // of the next byte in the server's file
  std::uint64_t last_progress = UINT64_MAX;
  std::optional<Error> sink_error;
  HttpResponse response;

  [[nodiscard]] long Status() const {
    if (is_file) return kFileStatus;
    long status = 0;
    Curl().easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
  }
  [[nodiscard]] bool IsSuccess() const { return Status() / 100 == 2; }
  [[nodiscard]] bool Cancelled() const { return request->cancel != nullptr && request->cancel->cancelled(); }
};

std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  TakeHeaderLine({data, size * count}, transfer.response.headers);
  return size * count;
}

Error Changed(const std::string& url) {
  return {ErrorCode::kNetwork, fmt::format("'{}' changed on the server while it was fetched", Redacted(url))};
}

/// Where the body of a 206 begins: "bytes 100-199/200". nullopt for anything else.
std::optional<std::uint64_t> RangeBegin(const HttpResponse& response) {
  const auto range = response.headers.find("content-range");
  if (range == response.headers.end() || !range->second.starts_with("bytes ")) return std::nullopt;
  const std::string_view text = std::string_view(range->second).substr(6);
  std::uint64_t begin = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), begin);
  if (status != std::errc() || end == text.data() + text.size() || *end != '-') return std::nullopt;
  return begin;
}

/// An ETag that promises equal bytes, else the time of the last change; "" if the server names neither.
std::string VersionOf(const HttpResponse& response) {
  const auto tag = response.headers.find("etag");
  if (tag != response.headers.end() && !tag->second.starts_with("W/")) return tag->second;
  const auto time = response.headers.find("last-modified");
  return time == response.headers.end() ? "" : time->second;
}

/// The body goes on where the sink is, or begins at 0: then it repeats what the sink has of this request, or
/// takes the place of what it has of an earlier one.
Result<void> BeginBody(Transfer& transfer) {
  transfer.has_begun = true;
  Delivery& delivery = *transfer.delivery;
  if (transfer.Status() == kPartialStatus) {
    const auto begin = RangeBegin(transfer.response);
    if (begin != delivery.bytes()) return Changed(transfer.request->url);
    transfer.position = *begin;
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
    if (!delivery.IsSame(transfer.position, bytes.substr(0, known))) return Changed(transfer.request->url);
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
  Curl().easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https,file");
  Curl().easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  Curl().easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
  Curl().easy_setopt(easy, CURLOPT_MAXREDIRS, kMaxRedirects);
  Curl().easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  Curl().easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, limits.stall_timeout.count());
  Curl().easy_setopt(easy, CURLOPT_HEADERFUNCTION, &OnHeader);
  Curl().easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  Curl().easy_setopt(easy, CURLOPT_WRITEFUNCTION, &OnBody);
  Curl().easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  Curl().easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, &OnProgress);
  Curl().easy_setopt(easy, CURLOPT_XFERINFODATA, &transfer);
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
  std::string version = {};  ///< Of the file whose body was cut.
  long status = 0;           ///< Of an answer that is an error.
};

class CurlHttp final : public Http {
 public:
  explicit CurlHttp(HttpLimits limits) : limits_(std::move(limits)) {}

  Result<HttpResponse> Get(const HttpRequest& request, ByteSink& sink) override {
    PTPKG_CHECK(LoadCurl());
    const SigpipeGuard guard;
    Delivery delivery(sink, request.resume_at);
    std::string version = request.resume_version;  // of the server's file, as If-Range takes it
    auto pause = limits_.retry_pause;
    const std::unique_ptr<Clock> clock = MakeOsClock();
    const CancelToken never;
    int fruitless = 0;
    for (int number = 1;; ++number) {
      if (request.cancel != nullptr) PTPKG_CHECK(request.cancel->Check());
      std::map<std::string, std::string> all = request.headers;
      if (delivery.bytes() > 0 && !version.empty()) {
        all["Range"] = fmt::format("bytes={}-", delivery.bytes());
        all["If-Range"] = version;
      }
      PTPKG_TRY(const CurlHeaders headers, BuildHeaders(all));
      const std::uint64_t before = delivery.bytes();
      Attempt attempt = TryOnce(request, delivery, headers.get());
      if (attempt.status == kNoSuchRangeStatus && delivery.resumed()) {
        delivery.Restart();
        continue;
      }
      if (delivery.bytes() > before) {
        fruitless = 0;
        pause = limits_.retry_pause;
      }
      if (!attempt.retry || ++fruitless == kAttempts || number == kMostAttempts)
        return std::move(attempt.result);
      if (!attempt.version.empty()) version = attempt.version;
      PTPKG_CHECK(SleepUnlessCancelled(*clock, pause, request.cancel == nullptr ? never : *request.cancel));
      pause *= 2;
    }
  }

  Result<HttpAnswer> Call(const HttpCall& call) override { return CallByCurl(call, limits_); }

 private:
  Attempt TryOnce(const HttpRequest& request, Delivery& delivery, curl_slist* headers) const {
    // A handle per attempt: handles hold cookies and connections, and serve one thread only.
    const CurlHandle easy(Curl().easy_init());
    if (easy == nullptr) return {Error(ErrorCode::kIo, "cannot set up libcurl")};
    Transfer transfer;
    transfer.easy = easy.get();
    transfer.request = &request;
    transfer.delivery = &delivery;
    delivery.BeginPart();
    transfer.is_file = StartsWithNoCase(request.url, "file:");
    SetOptions(transfer, limits_, headers);
    std::array<char, CURL_ERROR_SIZE> detail{};
    Curl().easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, detail.data());

    const CURLcode code = Curl().easy_perform(easy.get());
    if (transfer.sink_error) return {*std::move(transfer.sink_error)};
    if (code == CURLE_ABORTED_BY_CALLBACK) return {Error(ErrorCode::kCancelled, "interrupted")};
    const long status = transfer.Status();
    const bool retry = IsWorthRetrying(code, status);
    const std::string version = transfer.has_begun ? VersionOf(transfer.response) : "";
    if (code != CURLE_OK) {
      return {RequestError(request.url, limits_,
                           {.code = code,
                            .detail = detail.data(),
                            .lead = fmt::format("cannot fetch '{}'", Redacted(request.url)),
                            .wanted = "fetched",
                            .schemes = "https://, http:// or file://"}),
              retry, version};
    }
    if (!transfer.IsSuccess()) return {StatusError(request.url, status), retry, "", status};
    if (!transfer.has_begun) {  // an empty body
      Result<void> begun = BeginBody(transfer);
      if (!begun) return {std::move(begun).error()};
    }
    if (transfer.position < delivery.bytes()) return {Changed(request.url)};
    transfer.response.status = status;
    return {std::move(transfer.response)};
  }

  HttpLimits limits_;
};

}  // namespace

std::unique_ptr<Http> MakeCurlHttp(const HttpLimits& limits) { return std::make_unique<CurlHttp>(limits); }

}  // namespace ptpkg
