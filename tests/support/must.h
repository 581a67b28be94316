#pragma once
// For set-up steps of tests, whose failure no test expects.

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "support/error.h"

namespace ptpkg::test {

/// The value; throws std::runtime_error with the whole error when there is none.
template <class T>
T Must(Result<T> result) {
  if (!result.has_value()) throw std::runtime_error(FormatError(result.error()));
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace ptpkg::test
