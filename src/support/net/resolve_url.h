#pragma once
// Links of pages and redirects. Layer: support. Source: RFC 3986, 5.2, as libcurl carries it out.

#include <string>
#include <string_view>

#include "support/result.h"

namespace ptpkg {

/// Where `link` on the page `base` leads; "." and ".." are gone from its path. Errors: kInvalidInput for what
/// is no URL with a scheme that libcurl knows; kUnsupported (no libcurl).
Result<std::string> ResolveUrl(const std::string& base, const std::string& link);

/// "%2B" → "+"; a '%' without two hexadecimal digits stays.
std::string PercentDecoded(std::string_view text);

}  // namespace ptpkg
