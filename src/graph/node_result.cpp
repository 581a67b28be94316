#include "graph/node_result.h"

#include <fmt/core.h>

#include "support/internal_error.h"

namespace ptpkg::graph {

namespace {

/// nullptr: the stage keeps nothing.
Store* StoreOf(const Stage& stage, Stores stores) {
  if (stage.keep == Keep::kNothing) return nullptr;
  return stage.keep == Keep::kStore ? &stores.cache : &stores.staging;
}

/// nullptr: no other machine shares results of this node.
RemoteStore* RemoteOf(const Execution& execution, std::size_t i) {
  RemoteStore* remote = execution.stores.remote;
  if (remote == nullptr || execution.plan.StageAt(i).keep != Keep::kStore) return nullptr;
  return remote->Shares(execution.plan.NodeAt(i)) ? remote : nullptr;
}

/// Brings the result of node `i` from the remote store into the cache. nullopt: it is not there.
Result<std::optional<NodeResult>> FetchResult(const Execution& execution, std::size_t i) {
  const Node& node = execution.plan.NodeAt(i);
  const NodeKey& key = execution.plan.KeyAt(i);
  RemoteStore* remote = RemoteOf(execution, i);
  if (remote == nullptr) return std::optional<NodeResult>();
  bool missing = false;
  Result<NodeResult> kept =
      execution.stores.cache.Put(node.stage, key.key, [&](const AbsPath& folder) -> Result<NodeResult> {
        PTPKG_TRY(std::optional<NodeResult> fetched, remote->Fetch(node, key.key, folder));
        if (fetched) return *std::move(fetched);
        missing = true;
        return Error(ErrorCode::kNotFound, "the remote store has no such result");
      });
  if (missing) return std::optional<NodeResult>();
  if (!kept) return std::move(kept).error();
  execution.stores.history.Remember(node, key);
  kept->counts = {{kRemoteHits, 1}};
  kept->idle = "from the remote cache";
  return std::optional(*std::move(kept));
}

/// The result that another run has stored since this one looked for it: on this machine while it waited for
/// its claim, on others while the nodes before this one ran.
Result<std::optional<NodeResult>> FindLateResult(const Execution& execution, std::size_t i, Store& store,
                                                 bool has_claim) {
  if (has_claim) {
    PTPKG_TRY(std::optional<NodeResult> made,
              store.Take(execution.plan.NodeAt(i).stage, execution.plan.KeyAt(i).key));
    if (made) made->idle = "another run has built it meanwhile";
    if (made) return made;
  }
  return FetchResult(execution, i);
}

Result<std::int64_t> EpochOf(const Node& node) {
  if (!node.inputs.contains("source_date_epoch")) return std::int64_t{0};
  return JsonInteger(node.inputs, "source_date_epoch", fmt::format("the inputs of node '{}'", node.id));
}

Result<NodeResult> MakeResult(const Execution& execution, std::size_t i,
                              const std::function<NeededResults()>& needs, int jobs) {
  const Node& node = execution.plan.NodeAt(i);
  const NodeKey& key = execution.plan.KeyAt(i);
  const Stage& stage = execution.plan.StageAt(i);
  Env env = execution.env;
  env.jobs = jobs;
  PTPKG_TRY(env.source_date_epoch, EpochOf(node));
  if (execution.options.before) PTPKG_CHECK(execution.options.before(node));
  const NeededResults needed = needs();
  std::unique_ptr<Claim> claim;
  const auto run = [&](const AbsPath& folder) {
    return stage.run(env, NodeRun(node, key, needed, folder, claim.get()));
  };
  Store* store = StoreOf(stage, execution.stores);
  if (store == nullptr) return run(AbsPath::Literal("/nonexistent"));
  const auto if_there = MustRerun(node) ? Store::ExistingResult::kReplace : Store::ExistingResult::kTake;
  if (stage.claim) {
    PTPKG_TRY(claim, stage.claim(env, node, key));
  }
  if (if_there == Store::ExistingResult::kTake) {
    PTPKG_TRY(std::optional<NodeResult> made, FindLateResult(execution, i, *store, claim != nullptr));
    if (made) {
      if (claim) claim->OnStored();
      return *std::move(made);
    }
  }
  PTPKG_TRY(NodeResult result, store->Put(node.stage, key.key, run, if_there));
  execution.stores.history.Remember(node, key);
  if (claim) claim->OnStored();
  if (RemoteOf(execution, i) != nullptr) result.counts[kRemoteMisses] = 1;
  return result;
}

/// Nobody else stands above a node's thread: an exception that left it would end the program at once, with
/// the other nodes in the midst of their work.
Result<NodeResult> MakeResultOrError(const Execution& execution, std::size_t i,
                                     const std::function<NeededResults()>& needs, int jobs) {
  try {
    return MakeResult(execution, i, needs, jobs);
  } catch (...) {
    return CurrentInternalError();
  }
}

}  // namespace

bool MustRerun(const Node& node) { return node.options.contains(std::string(kRefreshOption)); }

bool HasResult(const NodeOutcome& outcome) {
  return outcome.state == NodeState::kFound || outcome.state == NodeState::kRan;
}

Result<std::optional<NodeResult>> FindResult(const Execution& execution, std::size_t i, bool dry_run) {
  const Node& node = execution.plan.NodeAt(i);
  const std::string& key = execution.plan.KeyAt(i).key;
  const Stage& stage = execution.plan.StageAt(i);
  std::optional<NodeResult> result;
  if (stage.find) {
    PTPKG_TRY(result, stage.find(execution.env, node, key));
  }
  Store* store = StoreOf(stage, execution.stores);
  if (!result && store != nullptr) {
    if (dry_run) {
      PTPKG_TRY(const bool holds, store->Holds(node.stage, key));
      RemoteStore* remote = holds ? nullptr : RemoteOf(execution, i);
      if (holds) result.emplace();
      if (remote != nullptr && remote->Holds(node, key)) result.emplace().idle = "in the remote cache";
    } else {
      PTPKG_TRY(result, store->Take(node.stage, key));
      if (!result) {
        PTPKG_TRY(result, FetchResult(execution, i));
      }
    }
  }
  if (result) result->key = key;
  return result;
}

NodeOutcome RunNode(const Execution& execution, std::size_t i, const std::function<NeededResults()>& needs,
                    int jobs) {
  const auto start = execution.env.clock.Now();
  Result<NodeResult> result = MakeResultOrError(execution, i, needs, jobs);
  const std::chrono::duration<double> elapsed = execution.env.clock.Now() - start;
  const std::chrono::duration<double> waited = start - execution.begin;
  NodeOutcome outcome{.state = result ? NodeState::kRan : NodeState::kFailed,
                      .begin_seconds = waited.count(),
                      .seconds = elapsed.count()};
  if (result) {
    outcome.reason = result->idle;
    outcome.result = *std::move(result);
    outcome.result.key = execution.plan.KeyAt(i).key;
  } else {
    outcome.error = std::move(result).error();
  }
  return outcome;
}

bool ShareResult(const Execution& execution, std::size_t i, const NodeResult& result) {
  RemoteStore* remote = RemoteOf(execution, i);
  if (remote == nullptr || !result.counts.contains(kRemoteMisses)) return false;
  try {
    return remote->Upload(execution.plan.NodeAt(i), result, MustRerun(execution.plan.NodeAt(i)));
  } catch (...) {  // as in MakeResultOrError; the node itself has passed
    execution.env.reporter.Warn(CurrentInternalError().message());
    return false;
  }
}

}  // namespace ptpkg::graph
