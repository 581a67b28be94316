#pragma once
// Runs a plan or single nodes of it. Layer: pipeline.

#include <string>

#include "graph/plan.h"
#include "pipeline/plan/summary.h"
#include "support/env.h"

namespace ptpkg::pipeline {

struct RunOptions {
  bool dry_run = false;  ///< Say what would run; write nothing.
  /// Refuse what is known to fail before anything runs (graph::Stage::foresee).
  bool foresee = true;
};

/// Runs what is not there yet, publishes in the output directory `output`, and writes the manifest's times.
/// The first node that fails is the summary's failure, with its id and the other failures as context; a test
/// is only where nothing else fails. What was published before
/// stays, and is indexed. Errors: kCorrupt (the manifest), kIo of the output directory or the cache.
Result<BuildSummary> RunPlan(Env& env, const graph::Plan& plan, const AbsPath& output,
                             const RunOptions& options);

/// Runs one node of the plan in `file`, as another executor would: on any machine where the plan's places
/// hold what its inputs name, and with the cache and the output directory of the nodes before. Errors:
/// kInvalidInput (the plan), kNotFound (no such node; a result that it needs is missing), those of the stage.
Result<BuildSummary> RunNode(Env& env, const AbsPath& file, const std::string& id);

/// One line a node for people: "conda/toy-1.0-0  0123456789ab  would run: first run".
// (The text form of `--plan`; the JSON form is graph::PlanToJson.)
Result<std::vector<std::string>> DescribePlan(Env& env, const graph::Plan& plan, const AbsPath& output);

}  // namespace ptpkg::pipeline
