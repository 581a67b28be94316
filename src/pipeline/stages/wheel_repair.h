#pragma once
// Repairs a recipe's wheel: extra.ptpkg.wheel.repair. Layer: pipeline.

#include <string>

#include "graph/plan.h"
#include "graph/stage.h"
#include "model/artifact.h"
#include "support/env.h"

namespace ptpkg::pipeline {

/// Sets the inputs of a wheel node whose wheel is repaired as `repair` says: a backend of `ptpkg repair` or
/// "plain", then a platform tag if it is not the default; "": none. The libraries of this machine enter the
/// key by the list of its packages and by the loader's cache. Errors: kInvalidInput for another word, with
/// the nearest match.
Result<void> SetWheelRepair(Env& env, const std::string& repair, graph::Node& node);

/// Repairs `wheel`, a file of the node's directory, which then holds the result in its place. Tells of each
/// library that is copied in. Errors: kRefused where the packages of this machine are not those of the plan;
/// those of Repair.
Result<Artifact> RepairWheel(Env& env, const graph::NodeRun& run, const std::string& repair,
                             const Artifact& wheel);

}  // namespace ptpkg::pipeline
