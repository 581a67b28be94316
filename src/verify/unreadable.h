#pragma once
// Separates damaged artifacts (findings) from I/O errors. Layer: verify.

#include <vector>

#include "model/finding.h"
#include "support/result.h"

namespace ptpkg::verify {

/// Appends "artifact-unreadable" for kCorrupt, kInvalidInput, kUnsupported and kHashMismatch: the artifact is
/// at fault. It takes the place of a finding with the same message. Errors: every other error, unchanged.
Result<void> UnreadableFinding(Error error, std::vector<Finding>& findings);

}  // namespace ptpkg::verify
