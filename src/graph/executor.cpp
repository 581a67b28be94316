// Idea: the plan is searched backwards from its aims. A node whose result is stored is reused, and what only
// it needs is not looked at; otherwise the node is marked as wanted, and so are its needs. Stages then
// foresee what would fail, and the scheduler runs the wanted nodes. Invariants: nothing runs before all nodes
// were looked at; a dry run reads no file of a result and writes nothing.

#include "graph/executor.h"

#include <fmt/core.h>

#include "graph/indexed_plan.h"
#include "graph/node_result.h"
#include "graph/scheduler.h"
#include "support/text/json_utf8.h"

namespace ptpkg::graph {

namespace {

Error UnknownStage(const Node& node) {
  return Error(ErrorCode::kInvalidInput,
               fmt::format("node '{}' needs stage '{}' of version {}, which this ptpkg does not have",
                           node.id, node.stage, node.version))
      .WithHint("make the plan and run its nodes with the same ptpkg");
}

/// Before anything runs: the stages are known, and the directories of the stores can be named in JSON, as
/// results do.
Result<void> CheckExecution(const Execution& execution) {
  for (const Node& node : execution.plan.nodes()) {
    const Stage* stage = execution.plan.stages().Find(node.stage);
    if (stage == nullptr || stage->version != node.version) return UnknownStage(node);
  }
  PTPKG_CHECK(CheckUtf8(execution.stores.cache.root().str(), "the cache directory"));
  return CheckUtf8(execution.stores.staging.root().str(), "the output directory");
}

NodeOutcome FoundOutcome(NodeResult result) {
  std::string reason = result.idle.empty() ? "inputs unchanged" : result.idle;
  return {.state = NodeState::kFound, .reason = std::move(reason), .result = std::move(result)};
}

/// Nodes that have to run, and the results that were found.
struct Selection {
  std::vector<bool> wanted;
  std::vector<NodeOutcome> outcomes;
};

Error MissingResult(const std::string& id) {
  return Error(ErrorCode::kNotFound, fmt::format("the result of node '{}' is missing", id))
      .WithHint(fmt::format("run it first: ptpkg run-node PLAN {}", id));
}

/// True if the node may run: ExecuteOptions::only.
bool MayRun(const Execution& execution, const Node& node) {
  return execution.options.only == nullptr || execution.options.only->contains(node.id);
}

/// Finds the node's result, or marks it and what it needs to be run.
Result<void> Want(const Execution& execution, std::size_t i, bool dry_run, Selection& selection) {
  const IndexedPlan& plan = execution.plan;
  const Node& node = plan.NodeAt(i);
  NodeOutcome& outcome = selection.outcomes[i];
  // Several nodes can need this one. It is looked up once, since a look-up compares all digests of a result.
  if (selection.wanted[i] || outcome.state == NodeState::kFound) return Ok();
  PTPKG_CHECK(execution.env.cancel.Check());
  if (MustRerun(node)) {
    outcome.reason = "asked for";
  } else {
    PTPKG_TRY(std::optional<NodeResult> found, FindResult(execution, i, dry_run));
    if (!MayRun(execution, node) && execution.options.outside)
      PTPKG_CHECK(execution.options.outside(node, found ? &*found : nullptr));
    if (found) {
      outcome = FoundOutcome(*std::move(found));
      return Ok();
    }
    if (plan.StageAt(i).keep != Keep::kNothing)
      outcome.reason = execution.stores.history.ChangeReason(node, plan.KeyAt(i));
  }
  if (!MayRun(execution, node)) return MissingResult(node.id);
  selection.wanted[i] = true;
  for (const auto& [role, id] : node.needs)
    PTPKG_CHECK(Want(execution, plan.IndexOf(id), dry_run, selection));
  return Ok();
}

/// Starts from the aims of the plan: the nodes that nothing needs. Nodes that alone may run have as aims,
/// too, the results that other nodes need.
Result<Selection> SelectNodes(const Execution& execution, bool dry_run) {
  const IndexedPlan& plan = execution.plan;
  Selection selection{.wanted = std::vector<bool>(plan.size()),
                      .outcomes = std::vector<NodeOutcome>(plan.size())};
  std::vector<bool> needed(plan.size());
  std::vector<bool> exported(plan.size());
  for (const Node& node : plan.nodes()) {
    for (const auto& [role, id] : node.needs) {
      const std::size_t need = plan.IndexOf(id);
      (MayRun(execution, node) ? needed : exported)[need] = true;
    }
  }
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (MayRun(execution, plan.NodeAt(i)) && (!needed[i] || exported[i]))
      PTPKG_CHECK(Want(execution, i, dry_run, selection));
  }
  return selection;
}

/// Lets each stage foresee all wanted nodes at once.
Result<void> Foresee(const Execution& execution, const std::vector<bool>& wanted) {
  const IndexedPlan& plan = execution.plan;
  for (const auto& [name, stage] : plan.stages().stages()) {
    if (!stage.foresee) continue;
    std::vector<NodeRun> runs;
    for (std::size_t i = 0; i < plan.size(); ++i) {
      if (!wanted[i] || plan.NodeAt(i).stage != name) continue;
      runs.emplace_back(plan.NodeAt(i), plan.KeyAt(i), NeededResults(), AbsPath::Literal("/nonexistent"));
    }
    if (!runs.empty()) PTPKG_CHECK(stage.foresee(execution.env, runs));
  }
  return Ok();
}

std::string ReasonOfNeeds(const IndexedPlan& plan, std::size_t i, const std::vector<bool>& wanted) {
  for (const auto& [role, id] : plan.NodeAt(i).needs) {
    if (wanted[plan.IndexOf(id)]) return fmt::format("'{}' runs", id);
  }
  return "runs each time";
}

/// Settles the outcomes of nodes that do not run, and reports them. Nodes that run report themselves as
/// tasks.
void ReportSkipped(const Execution& execution, bool dry_run, Selection& selection) {
  const IndexedPlan& plan = execution.plan;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    NodeOutcome& outcome = selection.outcomes[i];
    if (!MayRun(execution, plan.NodeAt(i))) continue;
    const bool has_result = plan.StageAt(i).keep != Keep::kNothing;
    const bool wanted = selection.wanted[i];
    if (wanted) {
      if (!dry_run) continue;
      outcome.state = NodeState::kWouldRun;
      if (outcome.reason.empty()) outcome.reason = ReasonOfNeeds(plan, i, selection.wanted);
    } else if (outcome.state != NodeState::kFound) {
      outcome.state = NodeState::kNotNeeded;
      outcome.reason = "not needed, later results exist";
    }
    if (!has_result && !dry_run) continue;
    const Node& node = plan.NodeAt(i);
    Task(execution.env.reporter, {.stage = node.stage, .subject = node.subject})
        .Skipped(wanted ? "would run: " + outcome.reason : outcome.reason);
  }
}

/// The results that node `i` needs: all of them must be there.
Result<NeededResults> FindNeeds(const Execution& execution, std::size_t i) {
  NeededResults needs;
  for (const auto& [role, need] : execution.plan.NodeAt(i).needs) {
    PTPKG_TRY(std::optional<NodeResult> found, FindResult(execution, execution.plan.IndexOf(need), false));
    if (!found) return MissingResult(need);
    needs.emplace(role, *std::move(found));
  }
  return needs;
}

}  // namespace

Result<std::vector<NodeOutcome>> Execute(Env& env, const Plan& plan, const StageTable& stages, Stores stores,
                                         const ExecuteOptions& options) {
  const IndexedPlan indexed(plan, stages);
  const Execution execution{env, indexed, stores, env.clock.Now(), options};
  PTPKG_CHECK(CheckExecution(execution));
  PTPKG_TRY(Selection selection, SelectNodes(execution, options.dry_run));
  if (options.foresee) PTPKG_CHECK(Foresee(execution, selection.wanted));
  ReportSkipped(execution, options.dry_run, selection);
  if (!options.dry_run) RunWanted(execution, selection.wanted, selection.outcomes);
  for (std::size_t i = 0; i < indexed.size(); ++i) selection.outcomes[i].result.key = indexed.KeyAt(i).key;
  return std::move(selection.outcomes);
}

Result<NodeOutcome> ExecuteOne(Env& env, const Plan& plan, std::string_view id, const StageTable& stages,
                               Stores stores) {
  const IndexedPlan indexed(plan, stages);
  const ExecuteOptions options;
  const Execution execution{env, indexed, stores, env.clock.Now(), options};
  PTPKG_CHECK(CheckExecution(execution));
  const std::optional<std::size_t> index = indexed.Find(id);
  if (!index) {
    return Error(ErrorCode::kNotFound, fmt::format("the plan has no node '{}'", id))
        .WithHint("the ids are listed under 'nodes' of the plan");
  }
  PTPKG_TRY(NeededResults needs, FindNeeds(execution, *index));
  if (!MustRerun(plan.nodes[*index])) {
    PTPKG_TRY(std::optional<NodeResult> found, FindResult(execution, *index, false));
    if (found) return FoundOutcome(*std::move(found));
  }
  std::vector<bool> wanted(indexed.size());
  wanted[*index] = true;
  PTPKG_CHECK(Foresee(execution, wanted));
  NodeOutcome outcome = RunNode(
      execution, *index, [&] { return needs; }, env.jobs);
  if (outcome.reason.empty()) outcome.reason = "asked for";
  if (outcome.error) return *std::move(outcome.error);
  if (ShareResult(execution, *index, outcome.result)) outcome.result.counts[kRemoteUploads] = 1;
  return outcome;
}

}  // namespace ptpkg::graph
