#include "support/assert.h"

#include <fmt/core.h>
#include <stdexcept>

namespace ptpkg::detail {

void AssertFailed(const char* expression, const char* file, int line) {
  throw std::logic_error(fmt::format("{}:{}: broken invariant: {}", file, line, expression));
}

}  // namespace ptpkg::detail
