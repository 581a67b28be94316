#include "support/net/url.h"

#include <charconv>
#include <fmt/core.h>

namespace ptpkg {

std::string PercentEncode(std::string_view text, std::string_view kept) {
  std::string out;
  for (const char c : text) {
    // The unreserved characters of RFC 3986, 2.3. Upper-case digits are its normal form (2.1).
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos ||
                       kept.find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string PercentDecode(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned value = 0;
    const char* const digits = text.data() + at + 1;
    // from_chars stops at the first other character, so ptr shows that both are digits.
    const bool code = text[at] == '%' && at + 2 < text.size() &&
                      std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2;
    out += code ? static_cast<char>(value) : text[at];
    if (code) at += 2;
  }
  return out;
}

}  // namespace ptpkg
