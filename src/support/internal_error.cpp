#include "support/internal_error.h"

#include <exception>
#include <fmt/core.h>
#include <string_view>

namespace ptpkg {

namespace {

Error InternalError(std::string_view what) {
  return Error(ErrorCode::kInternal, fmt::format("internal error: {}", what))
      .WithHint("please report it, with the command line and the input");
}

}  // namespace

Error CurrentInternalError() {
  try {
    // Rethrows what the caller's catch block holds, so that one function serves all of them.
    throw;
  } catch (const std::exception& failure) {
    return InternalError(failure.what());
  } catch (...) {
    return InternalError("an exception of unknown type");
  }
}

}  // namespace ptpkg
