#pragma once
// Reports exceptions as internal errors. Layer: support.

#include "support/error.h"

namespace ptpkg {

/// kInternal, "internal error: …" with the hint to report it. main() and the executor's nodes catch
/// exceptions from their callees and report them with this. REQUIRES: within a catch block.
Error CurrentInternalError();

}  // namespace ptpkg
