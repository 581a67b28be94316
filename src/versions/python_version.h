#pragma once
// Parses Python versions such as 3.11. Layer: versions.

#include <string>
#include <string_view>

#include "support/result.h"

namespace ptpkg::versions {

/// "3.11" of "3.11" and "3.11.7": patch releases share one ABI and one lib/python3.11. Errors: kInvalidInput
/// for anything else, such as "3", "3.x", "3.13t" and "3.12.0rc1".
Result<std::string> PythonMinor(std::string_view version);

/// ">=3.11,<3.12.0a0" of "3.11" and "3.11.7". Errors: as PythonMinor.
Result<std::string> PythonPin(std::string_view version);

}  // namespace ptpkg::versions
