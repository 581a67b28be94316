#pragma once
// Runs a plan with as much parallelism as the job budget allows. Layer: graph.

#include <optional>
#include <vector>

#include "graph/history.h"
#include "graph/plan.h"
#include "graph/result_store.h"
#include "graph/stage.h"

namespace ptpkg::graph {

enum class NodeState : std::uint8_t {
  kFound,      ///< Its result existed already.
  kNotNeeded,  ///< No node that runs reads its result.
  kWouldRun,   ///< Dry run.
  kRan,
  kFailed,
  kNotReached,  ///< A node that it needs failed, or another node failed before this one could start.
};

// NOLINTNEXTLINE(bugprone-exception-escape): the destructor of Json only looks as if it could throw
struct NodeOutcome {
  NodeState state = NodeState::kNotReached;
  std::string reason = {};   ///< Reason why it ran or would run, or did not.
  double begin_seconds = 0;  ///< After the begin of Execute; of kRan and kFailed.
  double seconds = 0;
  NodeResult result = {};           ///< Set for kFound and kRan.
  std::optional<Error> error = {};  ///< Set for kFailed.
};

struct Stores {
  Store& cache;    ///< For Keep::kStore.
  Store& staging;  ///< For Keep::kStaging.
  History& history;
};

struct ExecuteOptions {
  bool dry_run = false;
  bool foresee = true;  ///< Ask the stages what they know before anything runs (Stage::foresee).
};

/// Outcomes in the plan's order. Nodes that nothing needs are the aims of a plan; what they need is run
/// unless its result is found. After a failure no further node starts (but those of `after_failures` stages);
/// what runs goes on to its end. A node keeps the part of env.jobs that it gets at its start: with 8 jobs,
/// two builds side by side have 4 each. A parallel one waits until two thirds of its fair share are free
/// (env.jobs divided by the number of parallel nodes that run or are ready), so that none has one job for
/// hours; one that is light (Stage::is_light) neither waits nor counts. There is no budget that moves while
/// they run, a job server of make: ninja reads one from 1.13 on only. A dry run writes nothing. REQUIRES:
/// CheckPlan(plan). Errors: kUsage when the path of a store is not UTF-8 (json_utf8.h), before anything runs;
/// kInvalidInput for a stage that `stages` lacks or has in another version; those of Stage::foresee; kIo of
/// the stores. Failures of nodes are outcomes; so is an exception of one (internal_error.h).
Result<std::vector<NodeOutcome>> Execute(Env& env, const Plan& plan, const StageTable& stages, Stores stores,
                                         const ExecuteOptions& options);

/// Runs the node `id` alone; the results that it needs must be there. Its result is kept where Execute would
/// keep it. Errors: kNotFound (no such node; a needed result is missing: names the node to run first), those
/// of the stage.
Result<NodeOutcome> ExecuteOne(Env& env, const Plan& plan, std::string_view id, const StageTable& stages,
                               Stores stores);

}  // namespace ptpkg::graph
