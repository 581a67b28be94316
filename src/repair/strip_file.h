#pragma once
// Strips a library with the machine's strip. Layer: repair.

#include "support/env.h"

namespace ptpkg::repair {

/// Returns whether the file is another one now. REQUIRES: nothing else uses it. Errors: kNotFound (no program
/// 'strip' on PATH), kCommandFailed, kUnsupported when strip changed what the loader reads, kIo; the file is
/// of no use then.
Result<bool> StripFile(Env& env, const AbsPath& path);

}  // namespace ptpkg::repair
