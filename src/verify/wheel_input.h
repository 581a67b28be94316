#pragma once
// Wheels that something else is made of. Layer: verify.

#include "model/staged_tree.h"
#include "support/env.h"

namespace ptpkg::verify {

/// Refuses a wheel that uv, pip or installer would not install, or not as the others do. `unpacked`: its
/// content, with digests. Libraries are not looked at. Errors: kCheckFailed naming the findings of `ptpkg
/// check`; kIo.
Result<void> RequireInstallable(Env& env, const AbsPath& wheel, const StagedTree& unpacked);

}  // namespace ptpkg::verify
