#pragma once
// What becomes of an exception: a bug of ours, told as such. Layer: support.

#include "support/error.h"

namespace ptpkg {

/// kInternal, "internal error: …" with the hint to report it. main(), and whoever runs code on a thread of
/// its own, catch what comes out of it and tell it like this. REQUIRES: within a catch block.
Error CurrentInternalError();

}  // namespace ptpkg
