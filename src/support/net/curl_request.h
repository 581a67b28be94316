#pragma once
// Handles, headers and errors of libcurl's requests. Layer: support, private to it.

#include <curl/curl.h>
#include <map>
#include <memory>
#include <signal.h>
#include <string>
#include <string_view>

#include "support/net/http.h"

namespace ptpkg {

/// OpenSSL writes to sockets without MSG_NOSIGNAL: a peer that hangs up would end ptpkg by SIGPIPE. Blocks
/// the signal in this thread, and swallows a pending one.
class SigpipeGuard {
 public:
  SigpipeGuard();
  SigpipeGuard(SigpipeGuard&&) = delete;
  SigpipeGuard& operator=(SigpipeGuard&&) = delete;
  ~SigpipeGuard();

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

struct FreeCurl {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlHandle = std::unique_ptr<CURL, FreeCurl>;
using CurlHeaders = std::unique_ptr<curl_slist, FreeCurl>;

/// Initialises libcurl before the first handle, which reads OpenSSL's configuration: runs without a request
/// do not pay for it. Null when there is no memory left.
CurlHandle NewCurlHandle();

/// The URL for messages, without user names, passwords and signed query strings.
std::string Redacted(const std::string& url);

/// ASCII only. `prefix` is in lower case.
bool StartsWithNoCase(std::string_view text, std::string_view prefix);

/// "" for a value is libcurl's way to leave a header out that it would add.
/// Errors: kInvalidInput (no name, a line break), which names the header but not its value.
Result<CurlHeaders> BuildHeaders(const std::map<std::string, std::string>& headers);

/// Takes a line of libcurl's header callback: a status line begins the headers of another answer.
void TakeHeaderLine(std::string_view line, std::map<std::string, std::string>& headers);

/// The file of CA certificates below `root` that Debian, Ubuntu, Fedora or SUSE keep, or "" if there is none.
std::string SystemAuthorities(const std::string& root);

/// Sets URL, headers, connect timeout and trusted authorities: the options that are the same for every
/// request. `url` and `headers` outlive the handle's use.
void SetCommonOptions(CURL* easy, const std::string& url, curl_slist* headers, const HttpLimits& limits);

/// Text for an error.
struct CurlFailure {
  CURLcode code = CURLE_OK;
  const char* detail = "";   ///< Text of CURLOPT_ERRORBUFFER.
  std::string lead = {};     ///< "cannot fetch 'https://host/f'"
  std::string wanted = {};   ///< "fetched": ends "is not a URL that can be …".
  std::string schemes = {};  ///< Valid schemes of the URL, for a hint.
};

/// Errors: kInvalidInput (URL; a file of authorities that cannot be used), kNotFound (file:), kIo (memory),
/// kNetwork.
Error RequestError(const std::string& url, const HttpLimits& limits, const CurlFailure& failure);

}  // namespace ptpkg
