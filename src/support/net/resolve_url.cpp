#include "support/net/resolve_url.h"

#include <charconv>
#include <fmt/core.h>
#include <memory>

#include "support/net/curl_library.h"

namespace ptpkg {

Result<std::string> ResolveUrl(const std::string& base, const std::string& link) {
  PTPKG_CHECK(LoadCurl());
  const CurlLibrary& curl = Curl();
  const std::unique_ptr<CURLU, decltype(curl.url_cleanup)> url(curl.url(), curl.url_cleanup);
  char* text = nullptr;
  // The second one is taken as a link on the first one.
  if (curl.url_set(url.get(), CURLUPART_URL, base.c_str(), 0) != CURLUE_OK ||
      curl.url_set(url.get(), CURLUPART_URL, link.c_str(), CURLU_URLENCODE) != CURLUE_OK ||
      curl.url_get(url.get(), CURLUPART_URL, &text, 0) != CURLUE_OK) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' on '{}' leads to no address", link, base));
  }
  std::string resolved = text;
  curl.free(text);
  return resolved;
}

std::string PercentDecoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned value = 0;
    const char* const digits = text.data() + at + 1;
    const bool code = text[at] == '%' && at + 2 < text.size() &&
                      std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2;
    out += code ? static_cast<char>(value) : text[at];
    if (code) at += 2;
  }
  return out;
}

}  // namespace ptpkg
