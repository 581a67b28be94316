#pragma once
// Static analysis of the build plan. Layer: pipeline.

#include <vector>

#include "graph/stage.h"
#include "support/env.h"

namespace ptpkg::pipeline {

/// Stage::foresee of the stage "build": the rules of builder/preflight/preflight.h for each node without the
/// option "no-preflight". Reads no source and no package. Errors: as builder::CheckPreflight, with all nodes
/// together, any from builder::CheckTools, kInvalidInput (the plan).
Result<void> PreflightBuilds(Env& env, const std::vector<graph::NodeRun>& runs);

}  // namespace ptpkg::pipeline
