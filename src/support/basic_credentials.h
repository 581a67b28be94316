#pragma once
// Credentials of HTTP's Basic scheme. Layer: support. Source: RFC 7617.

#include <string>
#include <string_view>

namespace ptpkg {

/// "user:password" in base64. It is remembered (RememberSecret): a short password alone has too few digits of
/// base64 that nothing else decides.
std::string BasicCredentials(std::string_view login);

}  // namespace ptpkg
