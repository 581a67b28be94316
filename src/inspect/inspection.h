#pragma once
// Collects the report of `ptpkg inspect`. Layer: inspect.

#include "model/finding.h"
#include "support/env.h"
#include "support/text/json_fwd.h"
#include "verify/check_artifact.h"

namespace ptpkg::inspect {

struct InspectOptions {
  bool quick = false;               ///< Read no payload: directory and metadata alone.
  verify::CheckOptions check = {};  ///< on_file and links are set here.
};

struct Inspection {
  Report report = {};  ///< All findings of verify::ExamineArtifact; none with `quick`.
  JsonBox document;    ///< Without "findings" and "stages", which the caller has.
};

/// Inspects a .conda, .tar.bz2, .whl or .zip file from any builder. Errors: any from ReadListing and
/// ExamineArtifact.
Result<Inspection> InspectArtifact(Env& env, const AbsPath& artifact, const InspectOptions& options);

}  // namespace ptpkg::inspect
