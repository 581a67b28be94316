#pragma once
// The header Retry-After of an answer. Layer: support. Source: RFC 9110, 10.2.3 and 5.6.7.

#include <chrono>
#include <map>
#include <optional>
#include <string>

namespace ptpkg {

/// A server that asks for more is not waited for.
inline constexpr std::chrono::seconds kLongestRetryAfter{600};

/// Pause that the server asks for: seconds, or a date, which counts from the answer's own Date, or
/// from `now` without one. At least 0. `headers`: of HttpAnswer. nullopt: it asks for none, or its value
/// cannot be read.
std::optional<std::chrono::seconds> RetryAfter(const std::map<std::string, std::string>& headers,
                                               std::chrono::system_clock::time_point now);

}  // namespace ptpkg
