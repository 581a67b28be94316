#pragma once
// Percent-encoding of URL parts. Layer: support. Source: RFC 3986, 2.1 to 2.4.

#include <string>
#include <string_view>

namespace ptpkg {

/// Everything but letters, digits, "-._~" and the characters of `kept` as %XX: one path segment or query
/// value. A
/// '+' becomes %2B, so that it survives servers that read it as a space.
std::string PercentEncode(std::string_view text, std::string_view kept = "");

/// "%2B" → "+"; a '%' without two hexadecimal digits stays.
std::string PercentDecode(std::string_view text);

}  // namespace ptpkg
