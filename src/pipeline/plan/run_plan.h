#pragma once
// Runs a plan or single nodes of it. Layer: pipeline.

#include <string>

#include "graph/plan.h"
#include "pipeline/plan/summary.h"
#include "support/env.h"

namespace ptpkg::pipeline {

struct RunOptions {
  bool dry_run = false;  ///< Report which nodes would run; write nothing.
  /// Refuse nodes that are known to fail before anything runs (graph::Stage::foresee).
  bool foresee = true;
};

/// Runs the nodes whose results are missing, publishes in the output directory `output`, and writes the
/// manifest's times. The first node that fails is the summary's failure, with its id, and with the other
/// failures as context. A failed test is the failure only if nothing else fails. Artifacts that were
/// published before stay, and are indexed. Errors: kCorrupt (the manifest), kIo of the output directory or
/// the cache.
Result<BuildSummary> RunPlan(Env& env, const graph::Plan& plan, const AbsPath& output,
                             const RunOptions& options);

/// Runs one node of the plan in `file`, as another executor would. The machine must have, at the plan's
/// places, the files that its inputs name, and the cache and the output directory of the nodes before.
/// Errors: any from the stage, kInvalidInput (the plan), kNotFound (an unknown node, a missing result that it
/// needs).
Result<BuildSummary> RunNode(Env& env, const AbsPath& file, const std::string& id);

/// For people, one line for each node: "conda/toy-1.0-0  0123456789ab  would run: first run".
// (The text form of `--plan`; the JSON form is graph::PlanToJson.)
Result<std::vector<std::string>> DescribePlan(Env& env, const graph::Plan& plan, const AbsPath& output);

}  // namespace ptpkg::pipeline
