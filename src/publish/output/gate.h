#pragma once
// Checks artifacts before they are published. Layer: publish.

#include "model/finding.h"
#include "support/env.h"
#include "verify/check_artifact.h"

namespace ptpkg::publish {

/// Checks the artifact as its strictest consumer reads it, as a task that people see. Returns the findings,
/// none of which is an error. Errors: kCheckFailed listing the errors found; those of verify::CheckArtifact.
Result<Report> PassGate(Env& env, const AbsPath& artifact, const verify::CheckOptions& options);

/// kCheckFailed with one line per error of `report`; the rest of a long list is counted.
Error RefusedBy(const Report& report);

}  // namespace ptpkg::publish
