#pragma once
// Times and sizes as people write and read them. Layer: cli.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/result.h"

namespace ptpkg::cli {

/// "90s", "45m", "12h", "30d", "2w": a whole number and its unit. Errors: kUsage naming `flag`; also for more
/// than a thousand years.
Result<std::chrono::seconds> ParseDuration(std::string_view flag, std::string_view text);

/// Like ParseBytes of support/text/text.h. Errors: kUsage naming `flag`.
Result<std::uint64_t> ParseSize(std::string_view flag, std::string_view text);

/// "just now", "5 min ago", "3 h ago", "12 d ago"; a time in the future is "just now".
std::string Age(std::int64_t unix_ns, std::chrono::system_clock::time_point now);

/// "2026-11-21T18:05:09Z" (RFC 3339), seconds cut.
std::string UtcTime(std::int64_t unix_ns);

}  // namespace ptpkg::cli
