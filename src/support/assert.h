#pragma once
// PTPKG_ASSERT: check of internal invariants, unreachable by user input. Layer: support. Always on.

namespace ptpkg::detail {
/// Throws std::logic_error naming expression and place. internal_error.h says who catches it.
[[noreturn]] void AssertFailed(const char* expression, const char* file, int line);
}  // namespace ptpkg::detail

#define PTPKG_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : ::ptpkg::detail::AssertFailed(#expression, __FILE__, __LINE__))
