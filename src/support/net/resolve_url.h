#pragma once
// Links resolved against a page or redirect. Layer: support. Source: RFC 3986, 5.2, as libcurl carries it
// out.

#include <string>

#include "support/result.h"

namespace ptpkg {

/// The address of `link` on the page `base`, without "." and ".." in its path. Errors: kInvalidInput unless
/// that is a URL with a scheme that libcurl knows.
Result<std::string> ResolveUrl(const std::string& base, const std::string& link);

}  // namespace ptpkg
