#pragma once
// Runs a plan with as much parallelism as the job budget allows. Layer: graph.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/history.h"
#include "graph/plan.h"
#include "graph/remote_store.h"
#include "graph/result_store.h"
#include "graph/stage.h"

namespace ptpkg::graph {

enum class NodeState : std::uint8_t {
  kFound,      ///< Its result existed before.
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
  double begin_seconds = 0;  ///< After the start of Execute, for kRan and kFailed.
  double seconds = 0;
  NodeResult result = {};           ///< Set for kFound and kRan; the key always.
  std::optional<Error> error = {};  ///< Set for kFailed.
};

struct Stores {
  Store& cache;    ///< For Keep::kStore.
  Store& staging;  ///< For Keep::kStaging.
  History& history;
  RemoteStore* remote = nullptr;  ///< Results of other machines; null: none.
};

struct ExecuteOptions {
  bool dry_run = false;
  bool foresee = true;  ///< Let the stages check their nodes before anything runs (Stage::foresee).
  /// Ids of the nodes that may run; null: all. The results that they need from other nodes must exist. Their
  /// aims are those that another node of the plan needs, or that no node of them needs.
  const std::set<std::string>* only = nullptr;
  /// Called before anything runs, for each result that a node of `only` needs from another node; null: it is
  /// missing, which is an error anyway. An error stops the run. Empty: no call.
  std::function<Result<void>(const Node&, const NodeResult*)> outside = {};
  /// Called on the node's thread just before it runs; an error is the node's. Empty: no call.
  std::function<Result<void>(const Node&)> before = {};
};

/// Outcomes in the plan's order. Nodes that no other node needs are the goals of a plan. The nodes that they
/// need run unless their result is found. After a failure no further node starts, except nodes of
/// `after_failures` stages; running nodes continue to their end.
/// A node keeps the part of env.jobs that it gets at its start: with 8 jobs, two parallel builds have 4 each.
/// A parallel node waits until two thirds of its fair share are free, so that none runs for hours with one
/// job. The fair share is env.jobs divided by the number of parallel nodes that run or are ready. A light
/// node (Stage::is_light) neither waits nor counts. Running nodes share no budget through a job server of
/// make, because ninja supports one only from 1.13 on.
/// A dry run writes nothing. REQUIRES: CheckPlan(plan). Failures of nodes are outcomes, including their
/// exceptions (internal_error.h). Errors:
/// - kUsage when the path of a store is not UTF-8 (json_utf8.h), before anything runs
/// - kInvalidInput for a stage that `stages` lacks or has in another version
/// - kNotFound for a result that a node of `only` needs from another node
/// - any error from Stage::foresee, and kIo of the stores
Result<std::vector<NodeOutcome>> Execute(Env& env, const Plan& plan, const StageTable& stages, Stores stores,
                                         const ExecuteOptions& options);

/// Runs only the node `id`. The results that it needs must exist. Keeps its result in the same place as
/// Execute. Errors: kNotFound (an unknown node, or a missing result, naming the node to run first), and any
/// error from the stage.
Result<NodeOutcome> ExecuteOne(Env& env, const Plan& plan, std::string_view id, const StageTable& stages,
                               Stores stores);

}  // namespace ptpkg::graph
