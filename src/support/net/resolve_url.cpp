#include "support/net/resolve_url.h"

#include <curl/curl.h>
#include <fmt/core.h>
#include <memory>
#include <string_view>

namespace ptpkg {
namespace {

using CurlUrl = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

Error Unusable(const char* reason) { return Error(ErrorCode::kInvalidInput, reason); }

}  // namespace

Result<void> CheckUrl(const std::string& url) {
  const CurlUrl parsed(curl_url(), curl_url_cleanup);
  const CURLUcode code = curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0);
  if (code == CURLUE_BAD_PORT_NUMBER) return Unusable("the port of the URL is not a number up to 65535");
  if (code != CURLUE_OK || url.find('\0') != std::string::npos)
    return Unusable("the URL has an invalid host or an invalid character");
  char* port = nullptr;
  if (curl_url_get(parsed.get(), CURLUPART_PORT, &port, 0) != CURLUE_OK) return Ok();
  const bool is_zero = std::string_view(port) == "0";  // which libcurl takes, and no server can have
  curl_free(port);
  return is_zero ? Result<void>(Unusable("the port of the URL is 0")) : Ok();
}

Result<std::string> ResolveUrl(const std::string& base, const std::string& link) {
  const CurlUrl url(curl_url(), curl_url_cleanup);
  char* text = nullptr;
  // Setting a URL on a handle that has one resolves it against that (curl_url_set(3)).
  if (curl_url_set(url.get(), CURLUPART_URL, base.c_str(), 0) != CURLUE_OK ||
      curl_url_set(url.get(), CURLUPART_URL, link.c_str(), CURLU_URLENCODE) != CURLUE_OK ||
      curl_url_get(url.get(), CURLUPART_URL, &text, 0) != CURLUE_OK) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' on '{}' leads to no address", link, base));
  }
  std::string resolved = text;
  curl_free(text);
  return resolved;
}

}  // namespace ptpkg
