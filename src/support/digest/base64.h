#pragma once
// Base64 with '+', '/' and padding. Layer: support. Source: RFC 4648, 4.

#include <string>
#include <string_view>

#include "support/digest/stream.h"

namespace ptpkg {

std::string Base64(Bytes bytes);

/// The only text that Base64 gives for some bytes: no line breaks, all padding, no bits left over. Errors:
/// kInvalidInput.
Result<std::string> DecodeBase64(std::string_view text);

}  // namespace ptpkg
