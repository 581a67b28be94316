#pragma once
// HTTP behind an interface. Layer: support. libcurl behind it, no libcurl type here.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "support/cancel.h"
#include "support/clock.h"
#include "support/digest/stream.h"
#include "support/secret.h"

namespace ptpkg {

/// A body is about to reach the sink.
struct HttpBegin {
  std::uint64_t offset = 0;  ///< Offset of its first byte in the server's file: 0, or HttpRequest::resume_at.
  std::string version = {};  ///< Value for HttpRequest::resume_version; "": the server names none.
};

struct HttpRequest {
  std::string url = {};  ///< http:, https: or file:.
  /// The number of bytes that the sink already has from an earlier request, for the server's version
  /// `resume_version` of the file. 0: none. They are not requested again if the server reports the same
  /// version.
  std::uint64_t resume_at = 0;
  std::string resume_version = {};
  /// Called before the first byte, and again when a server that resumed at `resume_at` restarts at 0 after
  /// all. At offset 0 the sink drops its bytes. An error ends the transfer. REQUIRED with `resume_at`.
  std::function<Result<void>(const HttpBegin&)> on_begin = {};
  std::map<std::string, std::string> headers = {};
  /// Called as bytes arrive with (done, total); total 0 when unknown.
  std::function<void(std::uint64_t, std::uint64_t)> on_progress = {};
  const CancelToken* cancel = nullptr;
};

/// The keys of an AWS account. The id is not secret to AWS, but does not belong into logs.
struct AwsKeys {
  Secret id = Secret();
  Secret key = Secret();
  Secret session_token = Secret();  ///< "" = the keys do not belong to a session.
};

/// A signature for S3 by AWS Signature Version 4, in the Authorization header.
struct AwsSignature {
  AwsKeys keys = {};
  std::string region = {};
};

/// One request of an interface of a server, with any method and a body of known size.
struct HttpCall {
  std::string method = "GET";                       ///< GET, HEAD, PUT, POST, PATCH, DELETE.
  std::string url = {};                             ///< http: or https:.
  std::map<std::string, std::string> headers = {};  ///< Content-Length is added.
  /// Signs host, path, query and all `headers`. REQUIRES: x-amz-content-sha256 among the headers,
  /// Content-Type too if there is a body, and a query of "name=value" in the order of the names, because
  /// libcurl 7.88 signs queries unchanged.
  std::optional<AwsSignature> aws = {};
  std::uint64_t body_bytes = 0;
  /// The body from its first byte, exactly `body_bytes` long; none for requests without one. It is read
  /// during the transfer, so that memory does not grow with it.
  std::function<Result<std::unique_ptr<ByteSource>>()> open_body = {};
  /// Called during the transfer with the number of bytes sent so far, as libcurl counts them.
  std::function<void(std::uint64_t)> on_sent = {};
  const CancelToken* cancel = nullptr;
  std::uint64_t answer_limit_bytes = 4U << 20U;  ///< A longer answer is an error.
  /// Borrowed; takes the body of a 2xx answer, however long, in place of HttpAnswer::body.
  ByteSink* answer_sink = nullptr;
  bool skips_proxy = false;  ///< Goes straight to the host, whatever the proxy variables say.
  /// False: a 2xx answer that cannot be decoded gets an empty body instead of an error.
  bool needs_answer_body = true;
};

/// The server's answer, whatever its status.
struct HttpAnswer {
  long status = 0;
  std::map<std::string, std::string> headers = {};  ///< See HttpResponse.
  std::string body = {};
};

struct HttpResponse {
  long status = 0;                             ///< 200 for file:.
  std::map<std::string, std::string> headers;  ///< Names in lower case; the last of equal names wins.
};

class Http {
 public:
  virtual ~Http() = default;
  /// GETs into `sink`, following at most 10 redirects to http or https. Only a 2xx body reaches the sink,
  /// each byte once. Connection failures, 5xx, 408, 429 and bodies that are cut or stall are tried 3 times,
  /// counted anew from each attempt that brings new bytes, and 20 times in all. A retry does not request
  /// bytes again if the server reports the same version of the file (Range with If-Range, RFC 9110, 13.1.5
  /// and 14.2). Otherwise it reads the body from the beginning, and compares it with the bytes of this
  /// request. No message shows the URL's credentials or query. Errors: any from the sink, kNotFound (404,
  /// 410, missing file), kRefused (other 4xx), kNetwork (the rest, and a file that changed between two
  /// attempts), kCancelled, kInvalidInput (URL, header).
  virtual Result<HttpResponse> Get(const HttpRequest& request, ByteSink& sink) = 0;

  /// Sends the request once, and returns any answer of the server, also 3xx, 4xx and 5xx. Follows no
  /// redirect, because only the caller can decide which data can go where. No message shows a header's value,
  /// the URL's credentials or its query. Errors: any from the body, kCancelled, kInvalidInput (URL, header).
  /// Also kNetwork for no connection, no whole answer, or an answer over its limit; the server might have
  /// carried out the request anyway.
  virtual Result<HttpAnswer> Call(const HttpCall& call) = 0;
};

struct HttpLimits {
  std::chrono::milliseconds connect_timeout{30'000};
  /// Ends a transfer in which no byte came for so long. A transfer as a whole has no limit.
  std::chrono::seconds stall_timeout{60};
  std::chrono::milliseconds retry_pause{1'000};  ///< Before the second attempt; doubled before the third.
  /// For Call: time from the last byte of the body to the first of the answer. Indexes process a big file
  /// meanwhile.
  std::chrono::milliseconds answer_timeout{300'000};
  std::string ca_file = {};      ///< PEM file of the trusted authorities; "": the system's.
  std::string ca_variable = {};  ///< Environment variable that named ca_file: for messages.
};

/// Honours the proxy variables of the process environment, as libcurl does.
std::unique_ptr<Http> MakeCurlHttp(const HttpLimits& limits = {});

}  // namespace ptpkg
