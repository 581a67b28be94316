#pragma once
// Repairs a recipe's wheel: extra.ptpkg.wheel.repair. Layer: pipeline.

#include <string>

#include "graph/plan.h"
#include "graph/stage.h"
#include "model/artifact.h"
#include "support/env.h"

namespace ptpkg::pipeline {

/// Sets the inputs of a wheel node whose wheel is repaired. `repair`: a backend of `ptpkg repair` or "plain",
/// then a platform tag if it is not the default; "": no repair. The libraries of this machine enter the key
/// through the list of its packages and the loader's cache. Errors: kInvalidInput for another word, with the
/// nearest match.
Result<void> SetWheelRepair(Env& env, const std::string& repair, graph::Node& node);

/// Repairs `wheel`, a file of the node's directory, which then holds the result in its place. Reports each
/// library that is copied in. Errors: any from Repair, kRefused if the packages of this machine differ from
/// the plan's.
Result<Artifact> RepairWheel(Env& env, const graph::NodeRun& run, const std::string& repair,
                             const Artifact& wheel);

}  // namespace ptpkg::pipeline
