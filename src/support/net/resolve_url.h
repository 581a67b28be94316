#pragma once
// URLs as libcurl parses them, and links resolved against a page or redirect. Layer: support. Source: RFC
// 3986, as libcurl carries it out.

#include <string>

#include "support/result.h"

namespace ptpkg {

/// Errors: kInvalidInput with the reason, without the URL, unless libcurl can send a request to `url`: it has
/// a host and a port from 1 to 65535, and no character that a URL cannot have.
Result<void> CheckUrl(const std::string& url);

/// The address of `link` on the page `base`, without "." and ".." in its path. Errors: kInvalidInput unless
/// that is a URL with a scheme that libcurl knows.
Result<std::string> ResolveUrl(const std::string& base, const std::string& link);

}  // namespace ptpkg
