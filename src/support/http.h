#pragma once
// HTTP behind an interface. Layer: support. libcurl behind it, no libcurl type here.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "support/cancel.h"
#include "support/clock.h"
#include "support/stream.h"

namespace ptpkg {

/// A body is about to reach the sink.
struct HttpBegin {
  std::uint64_t offset = 0;  ///< Of its first byte in the server's file: 0, or HttpRequest::resume_at.
  std::string version = {};  ///< What HttpRequest::resume_version takes; "": the server names none.
};

struct HttpRequest {
  std::string url = {};  ///< http:, https: or file:.
  /// The sink has so many bytes of the file that the server called `resume_version`, from an earlier request.
  /// 0: none. They are not asked for again, if the server says that its file is still that one.
  std::uint64_t resume_at = 0;
  std::string resume_version = {};
  /// Called before the first byte, and once more when a server that went on at `resume_at` begins at 0 after
  /// all. At offset 0 the sink drops what it has. An error ends the transfer. REQUIRED with `resume_at`.
  std::function<Result<void>(const HttpBegin&)> on_begin = {};
  std::map<std::string, std::string> headers = {};
  /// Called as bytes arrive with (done, total); total 0 when unknown.
  std::function<void(std::uint64_t, std::uint64_t)> on_progress = {};
  const CancelToken* cancel = nullptr;
};

struct HttpResponse {
  long status = 0;                             ///< 200 for file:.
  std::map<std::string, std::string> headers;  ///< Names in lower case; the last of equal names wins.
};

class Http {
 public:
  virtual ~Http() = default;
  /// GETs into `sink`, following at most 10 redirects to http or https. Only a 2xx body reaches the
  /// sink, each byte once. Connection failures, 5xx, 408, 429 and bodies that are cut or stall are tried 3
  /// times, counted anew from each attempt that brings new bytes, and 20 times in all. What the sink has
  /// is not asked for again where the server says that its file is the same (Range with If-Range, RFC 9110,
  /// 13.1.5 and 14.2); else the body is read from its begin, and compared with what this request brought. No
  /// message shows the URL's credentials or query.
  /// Errors: kNotFound (404, 410, missing file), kRefused (other 4xx), kNetwork (rest; a file that changed
  /// between two attempts), kCancelled, kInvalidInput (URL, header), and those of the sink.
  virtual Result<HttpResponse> Get(const HttpRequest& request, ByteSink& sink) = 0;
};

struct HttpLimits {
  std::chrono::milliseconds connect_timeout{30'000};
  /// Ends a transfer in which no byte came for so long. A transfer as a whole has no limit.
  std::chrono::seconds stall_timeout{60};
  std::chrono::milliseconds retry_pause{1'000};  ///< Before the second attempt; doubled before the third.
};

/// Honours the proxy variables of the process environment, as libcurl does.
std::unique_ptr<Http> MakeCurlHttp(const HttpLimits& limits = {});

}  // namespace ptpkg
