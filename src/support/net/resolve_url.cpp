#include "support/net/resolve_url.h"

#include <curl/curl.h>
#include <fmt/core.h>
#include <memory>

namespace ptpkg {

Result<std::string> ResolveUrl(const std::string& base, const std::string& link) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), curl_url_cleanup);
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
