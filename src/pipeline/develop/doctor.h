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

/// Checks the machine first. Then, unless the request names no recipe, checks each variant that is not
/// skipped. Each diagnosis has the findings of preflight.yaml, and these:
///
/// - "tool-missing": tools that CheckTools and CheckTestTools would refuse
/// - "source-unusable": defects of sources and patches that are visible without reading them
/// - "work-folder", for the machine: a cache directory in which no build works
/// - "nothing-to-build": all variants are skipped
///
/// A finding of the machine is not repeated for a recipe. Fetches no source and builds nothing, but can fetch
/// wheels of the Python index (builder::CheckTools). Errors: any from Render, kIo, kCancelled.
Result<std::vector<Diagnosis>> Diagnose(Env& env, const BuildRequest& request);

/// Report with the findings.
Report ReportOf(const Diagnosis& diagnosis);

/// {"subject", "facts": {name: value}, "findings": [{"id", "severity", "message", "fix", "source"}]}.
Json DiagnosisToJson(const Diagnosis& diagnosis);

}  // namespace ptpkg::pipeline
