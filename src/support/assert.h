#pragma once
// PTPKG_ASSERT: a broken invariant of our own code, never reachable by user input. Always on.
// Layer: support.

namespace ptpkg::detail {
/// Throws std::logic_error naming expression and place. internal_error.h says who catches it.
[[noreturn]] void AssertFailed(const char* expression, const char* file, int line);
}  // namespace ptpkg::detail

#define PTPKG_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : ::ptpkg::detail::AssertFailed(#expression, __FILE__, __LINE__))
