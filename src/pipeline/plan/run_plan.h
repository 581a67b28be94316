#pragma once
// Runs a plan or single nodes of it. Layer: pipeline.

#include <string>
#include <vector>

#include "graph/executor.h"
#include "graph/plan.h"
#include "model/stage_time.h"
#include "pipeline/plan/summary.h"
#include "pipeline/remote_cache/remote_cache.h"
#include "support/env.h"

namespace ptpkg::pipeline {

struct RunOptions {
  bool dry_run = false;  ///< Report which nodes would run; write nothing.
  /// Refuse nodes that are known to fail before anything runs (graph::Stage::foresee).
  bool foresee = true;
  RemoteCacheOptions remote_cache = {};  ///< For results that this machine does not have.
};

/// Runs the nodes whose results are missing, publishes in the output directory `output`, and writes the
/// manifest's times. The first node that fails is the summary's failure, with its id, and with the other
/// failures as context. A failed test is the failure only if nothing else fails. Artifacts that were
/// published before stay, and are indexed. Errors: kCorrupt (the manifest), kIo of the output directory or
/// the cache, any from OpenRemoteCache.
Result<BuildSummary> RunPlan(Env& env, const graph::Plan& plan, const AbsPath& output,
                             const RunOptions& options);

/// Runs one node of the plan in `file`, as another executor would. The machine must have, at the plan's
/// places, the files that its inputs name, and the cache and the output directory of the nodes before.
/// Errors: any from the stage, kInvalidInput (the plan), kNotFound (an unknown node, a missing result that it
/// needs).
Result<BuildSummary> RunNode(Env& env, const AbsPath& file, const std::string& id);

/// Outcome of a part of a plan: nodes that run on one machine, while others run elsewhere.
struct PartOutcome {
  std::vector<graph::NodeOutcome> outcomes;  ///< Outcomes of all nodes of the plan, in its order.
  BuildSummary summary;                      ///< Summary of the part alone.
};

/// Runs the nodes `options.only` of the plan. Cache and output directory hold the results of the other nodes.
/// REQUIRES: options.only is set. Errors: as graph::Execute, and kIo and kCorrupt of the output directory,
/// any from OpenRemoteCache.
Result<PartOutcome> RunPart(Env& env, const graph::Plan& plan, const graph::ExecuteOptions& options,
                            const RemoteCacheOptions& remote_cache);

/// Ends a run of parts: writes the manifest's times, and removes artifacts that wait for no publication of
/// the plan. `outcomes`: those that the last part returned. Errors: kIo, kCorrupt.
Result<void> FinishParts(Env& env, const graph::Plan& plan, const std::vector<graph::NodeOutcome>& outcomes,
                         const std::vector<StageTime>& times);

/// For people, one line for each node: "conda/toy-1.0-0  0123456789ab  would run: first run".
// (The text form of `--plan`; the JSON form is graph::PlanToJson.)
Result<std::vector<std::string>> DescribePlan(Env& env, const graph::Plan& plan, const AbsPath& output,
                                              const RemoteCacheOptions& remote_cache = {});

}  // namespace ptpkg::pipeline
