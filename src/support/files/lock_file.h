#pragma once
// Waits for a lock between processes. Layer: support. lease.h has those that nobody waits for.

#include <memory>
#include <string_view>

#include "support/env.h"

namespace ptpkg {

/// Makes the file `path` if it is missing, in a directory that exists, and locks it exclusively; the lock
/// ends with the result, the file stays. While somebody else holds it for more than half a second, this is a
/// task "wait" of `subject`. On a file system without locks it is granted at once. Errors: kIo, kCancelled.
Result<std::unique_ptr<File>> WaitForLock(Env& env, const AbsPath& path, std::string_view subject);

}  // namespace ptpkg
