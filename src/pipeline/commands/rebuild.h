#pragma once
// Runs `ptpkg rebuild`. Layer: pipeline.

#include <optional>
#include <string>

#include "pipeline/plan/build_plan.h"
#include "support/env.h"
#include "support/text/json_fwd.h"

namespace ptpkg::pipeline {

struct RebuildRequest {
  AbsPath artifact = AbsPath::Literal("/nonexistent");  ///< .conda, .tar.bz2 or .whl file.
  std::optional<AbsPath> recipe = {};   ///< Conda package of the same build; a wheel needs it.
  std::optional<AbsPath> channel = {};  ///< Channel of the packages that the build used; nullopt: its own.
  std::optional<AbsPath> output = {};   ///< Empty or new directory that keeps the result; nullopt: none does.
  BuildRequest build = {};              ///< Sources and tools; the rest comes from the package.
};

struct RebuildOutcome {
  bool identical = false;          ///< Byte by byte.
  std::string sha256;              ///< Digest of the artifact.
  std::string rebuilt_sha256;      ///< Digest of the rebuilt artifact.
  std::optional<AbsPath> rebuilt;  ///< The rebuilt artifact, if RebuildRequest::output keeps it.
  JsonBox difference;              ///< docs/json/diff.json
};

/// Restores recipe, variant and time stamp from the package, and compares sources, packages and tools with
/// its list. Then it builds without stored results, and compares the bytes. Tests do not run. Errors:
/// kUnsupported: the artifact lacks something that a rebuild needs.
/// kNotFound, kHashMismatch: a source, a package or the tools.
/// kAlreadyExists: `output` has content. PlanBuild, RunPlan and Diff add their own.
Result<RebuildOutcome> Rebuild(Env& env, const RebuildRequest& request);

}  // namespace ptpkg::pipeline
