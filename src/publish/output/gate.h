#pragma once
// Checks artifacts before they are published. Layer: publish.

#include "model/finding.h"
#include "support/env.h"
#include "verify/check_artifact.h"

namespace ptpkg::publish {

/// Checks the artifact the way its strictest consumer reads it, as a visible task. Returns the findings,
/// which include no errors. Errors: any from verify::CheckArtifact, kCheckFailed listing the errors found.
Result<Report> PassGate(Env& env, const AbsPath& artifact, const verify::CheckOptions& options);

/// kCheckFailed with one line per error of `report`; the rest of a long list is counted.
Error RefusedBy(const Report& report);

}  // namespace ptpkg::publish
