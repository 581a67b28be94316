#include "support/net/retry_after.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <curl/curl.h>

namespace ptpkg {
namespace {

constexpr std::int64_t kFar = 1LL << 40;  // seconds; beyond all bounds, and safe to calculate with

std::optional<std::int64_t> DateIn(const std::map<std::string, std::string>& headers,
                                   const std::string& name) {
  const auto found = headers.find(name);
  if (found == headers.end()) return std::nullopt;
  const std::int64_t seconds = curl_getdate(found->second.c_str(), nullptr);
  return seconds < 0 ? std::nullopt : std::optional(seconds);
}

}  // namespace

std::optional<std::chrono::seconds> RetryAfter(const std::map<std::string, std::string>& headers,
                                               std::chrono::system_clock::time_point now) {
  const auto header = headers.find("retry-after");
  if (header == headers.end()) return std::nullopt;
  const std::string& text = header->second;
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos) {
    std::int64_t seconds = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seconds);
    return std::chrono::seconds(parsed.ec == std::errc() ? std::min(seconds, kFar) : kFar);
  }
  const auto date = DateIn(headers, "retry-after");
  if (!date) return std::nullopt;
  const auto here = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  // The server's own clock, if known: a wrong clock on this machine would lengthen or skip the pause.
  const std::int64_t from = DateIn(headers, "date").value_or(here);
  return std::chrono::seconds(std::clamp<std::int64_t>(*date - from, 0, kFar));
}

}  // namespace ptpkg
