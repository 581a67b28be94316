#pragma once
// Makes sure that the standard descriptors are open. Layer: support. Source: POSIX, exec: a program can start
// without them.

#include "support/result.h"

namespace ptpkg {

/// Opens descriptor 0 on /dev/null, and 1 and 2 on /dev/full, if they are closed. Otherwise the next file
/// that is opened gets the number, and messages go into it. Reading 0 and writing 1 and 2 fails as if they
/// were closed, also by /dev/stdout. main() calls it before anything else. Errors: kIo, kNotFound.
Result<void> OpenStandardDescriptors();

}  // namespace ptpkg
