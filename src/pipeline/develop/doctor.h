#pragma once
// Runs `ptpkg doctor`: checks this machine before a build. Layer: pipeline.

#include <string>
#include <vector>

#include "builder/preflight/preflight.h"
#include "pipeline/plan/build_plan.h"
#include "support/env.h"
#include "support/text/json_fwd.h"

namespace ptpkg::pipeline {

struct Diagnosis {
  std::string subject;  ///< "libtorch-2.6.0-cpu_0"; "" for the machine.
  builder::Facts facts;
  std::vector<builder::PreflightFinding> findings;
};

/// The machine first, then, unless the request names no recipe, each variant that is not skipped: what
/// preflight.yaml says of it, under the id "tool-missing" what CheckTools and CheckTestTools would refuse,
/// and under "source-unusable" what is wrong with its sources and patches without reading them; of the
/// machine also, as "work-folder", a cache directory in which no build works; where all variants are skipped,
/// "nothing-to-build". What holds for the machine is not said again of a recipe. No source is fetched and
/// nothing is built; wheels of the Python index may be fetched (builder::CheckTools). Errors: those of
/// Render; kIo, kCancelled.
Result<std::vector<Diagnosis>> Diagnose(Env& env, const BuildRequest& request);

/// Report with the findings.
Report ReportOf(const Diagnosis& diagnosis);

/// {"subject", "facts": {name: value}, "findings": [{"id", "severity", "message", "fix", "source"}]}.
Json DiagnosisToJson(const Diagnosis& diagnosis);

}  // namespace ptpkg::pipeline
