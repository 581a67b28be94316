#pragma once
// Checks that JSON values are valid UTF-8. Layer: support.

#include <string>
#include <string_view>

#include "support/result.h"
#include "support/text/json_fwd.h"

namespace ptpkg {

/// Errors: kUsage naming `what` ("the plan") and the first text or key in it that is not UTF-8; a path of the
/// command line, as a rule. Linux takes such paths, JSON does not.
Result<void> CheckUtf8(const Json& value, std::string_view what);
/// Checks one text: "the directory of the cache".
Result<void> CheckUtf8(const std::string& text, std::string_view what);

}  // namespace ptpkg
