#pragma once
// Encodes domain labels as Punycode. Layer: verify. Source: RFC 3492, as Python's codec "punycode" writes it.

#include <string>
#include <string_view>

namespace ptpkg::verify {

/// `text` is UTF-8; bytes that are not are taken one by one.
std::string Punycode(std::string_view text);

}  // namespace ptpkg::verify
