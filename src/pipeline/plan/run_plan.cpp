// Around the executor: what has to be cleaned before a run, kept after it, and reported.
//
// - Before: an interrupted publication is completed first (Prepare), then files of killed runs go. --dry-run
//   writes nothing.
// - After: artifacts that wait for a publication of this plan stay, so a failed run need not pack again.
//   Other waiting artifacts go, but only after Prepare, since another run may have been killed while it
//   published them.
// - The error of a run is the first failed node's. A test counts only if nothing else failed: a package that
//   fails its check fails its test too, and the check explains why.
//
// A failure to tidy up is a warning if the run failed already, so that it doesn't hide the cause.

#include "pipeline/plan/run_plan.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "graph/executor.h"
#include "model/finding_json.h"
#include "pipeline/stages/build_folder.h"
#include "pipeline/stages/pack_result.h"
#include "pipeline/stages/stages.h"
#include "publish/output/output_folder.h"
#include "support/files/scratch.h"
#include "support/text/json_utf8.h"

namespace ptpkg::pipeline {

namespace {

using graph::NodeOutcome;
using graph::NodeState;

/// The places where results are kept, for one run.
class Kept {
 public:
  /// `remote` may be null.
  Kept(Env& env, const AbsPath& output, std::unique_ptr<graph::RemoteStore> remote = nullptr)
      : env_(env),
        cache_(env, env.cache_dir / "stages"),
        staging_(env, PendingRoot(env, output)),
        history_(env, env.cache_dir / "stages/records"),
        remote_(std::move(remote)) {}

  graph::Stores Stores() {
    return {.cache = cache_, .staging = staging_, .history = history_, .remote = remote_.get()};
  }
  graph::Store& staging() { return staging_; }

  /// Removes files left by killed runs, also for nodes that need not run again. Errors: kIo.
  Result<void> RemoveAbandoned() {
    PTPKG_CHECK(cache_.RemoveAbandoned());
    PTPKG_CHECK(staging_.RemoveAbandoned());
    PTPKG_CHECK(history_.RemoveAbandoned());
    PTPKG_CHECK(ptpkg::RemoveAbandoned(env_, env_.cache_dir / "work"));
    PTPKG_CHECK(PruneWorkDirs(env_, [this](const std::string& key) { return cache_.Holds("build", key); }));
    return ptpkg::RemoveAbandoned(env_, env_.cache_dir);
  }

 private:
  Env& env_;
  graph::Store cache_;
  graph::Store staging_;
  graph::History history_;
  std::unique_ptr<graph::RemoteStore> remote_;
};

std::string ReasonOf(const NodeOutcome& outcome) {
  if (outcome.state == NodeState::kWouldRun) return "would run: " + outcome.reason;
  if (outcome.state != NodeState::kFailed) return outcome.reason;
  return outcome.reason.empty() ? "failed" : "failed; it ran because: " + outcome.reason;
}

StageTime TimeOf(const graph::Node& node, const NodeOutcome& outcome) {
  const bool ran = outcome.state == NodeState::kRan && outcome.result.idle.empty();
  return {.stage = node.stage,
          .subject = node.subject,
          .ran = ran,
          .reason = ReasonOf(outcome),
          .begin_seconds = outcome.begin_seconds,
          .seconds = outcome.seconds,
          .counts = outcome.result.counts};
}

/// Adds what the node's result says to people. A publication says what was made.
Result<void> AddToSummary(const graph::Node& node, const NodeOutcome& outcome, BuildSummary& summary) {
  const Json& value = outcome.result.value;
  if (node.stage == "publish") {
    PTPKG_TRY(const Packed packed, ReadPacked(outcome.result));
    summary.artifacts.insert(summary.artifacts.end(), packed.artifacts.begin(), packed.artifacts.end());
  }
  for (const Json& item : value.value("reports", Json::array())) {
    PTPKG_TRY(Report report, ReportFromJson(item, node.id));
    summary.reports.push_back(std::move(report));
  }
  PTPKG_TRY(const auto unknown, JsonStringsOr(value, "unknown_requirements", {}, node.id));
  summary.unknown_requirements.insert(summary.unknown_requirements.end(), unknown.begin(), unknown.end());
  PTPKG_TRY(const auto left_out, JsonStringsOr(value, "left_out", {}, node.id));
  summary.left_out.insert(summary.left_out.end(), left_out.begin(), left_out.end());
  return Ok();
}

/// The error of the run: of the first node that failed, but of a test only where nothing else did. A package
/// that does not pass its check fails its test too, and the check says why. The others are its context.
std::optional<Error> FailureOf(const graph::Plan& plan, const std::vector<NodeOutcome>& outcomes) {
  std::vector<std::size_t> failed;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].state != NodeState::kNotReached && outcomes[i].error) failed.push_back(i);
  }
  if (failed.empty()) return std::nullopt;
  std::stable_partition(failed.begin(), failed.end(),
                        [&](std::size_t i) { return plan.nodes[i].stage != "test"; });
  Error failure =
      Error(*outcomes[failed[0]].error).WithContext(fmt::format("in '{}'", plan.nodes[failed[0]].id));
  for (std::size_t i = 1; i < failed.size(); ++i) {
    failure = std::move(failure).WithContext(
        fmt::format("'{}' failed too: {}", plan.nodes[failed[i]].id, outcomes[failed[i]].error->message()));
  }
  return failure;
}

Result<BuildSummary> Summarise(const graph::Plan& plan, const std::vector<NodeOutcome>& outcomes) {
  BuildSummary summary;
  summary.failure = FailureOf(plan, outcomes);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const graph::Node& node = plan.nodes[i];
    const NodeOutcome& outcome = outcomes[i];
    if (outcome.state == NodeState::kNotReached) continue;
    summary.stages.push_back(TimeOf(node, outcome));
    if (outcome.error) continue;
    PTPKG_CHECK(AddToSummary(node, outcome, summary));
  }
  return summary;
}

/// Removes artifacts that wait for a publication that will not come: of other plans, and those that are
/// published.
Result<void> CleanStaging(Env& env, graph::Store& store, const std::set<std::string>& keep) {
  const AbsPath results = store.root() / "results";
  PTPKG_TRY(const bool there, Exists(env.fs, results));
  if (!there) return Ok();
  PTPKG_TRY(const std::vector<std::string> stages, env.fs.ListDir(results));
  for (const std::string& stage : stages) {
    PTPKG_TRY(const std::vector<std::string> keys, env.fs.ListDir(results / stage));
    for (const std::string& key : keys) {
      // 64 digits: a key, and not a scratch directory of a running node.
      if (!keep.contains(key) && key.size() == 64) PTPKG_CHECK(store.Drop(stage, key));
    }
  }
  return Ok();
}

/// Keys of packed artifacts that this plan may still publish.
std::set<std::string> WaitingKeys(const graph::Plan& plan, const std::vector<NodeOutcome>& outcomes) {
  std::set<std::string> keys;
  const std::vector<graph::NodeKey> node_keys = graph::KeysOf(plan);
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) index.emplace(plan.nodes[i].id, i);
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    if (plan.nodes[i].stage != "publish") continue;
    if (outcomes[i].state == NodeState::kRan || outcomes[i].state == NodeState::kFound) continue;
    for (const auto& [role, id] : plan.nodes[i].needs) keys.insert(node_keys[index.at(id)].key);
  }
  return keys;
}

Result<std::vector<NodeOutcome>> Run(Env& env, const graph::Plan& plan, const AbsPath& output, Kept& kept,
                                     const RunOptions& options) {
  // Execute says so too, but by then the directories would be made.
  PTPKG_CHECK(CheckUtf8(env.cache_dir.str(), "the cache directory"));
  PTPKG_CHECK(CheckUtf8(output.str(), "the output directory"));
  PTPKG_TRY(publish::OutputFolder folder, publish::OutputFolder::Open(env, output));
  if (!options.dry_run) {
    PTPKG_CHECK(folder.Prepare());
    PTPKG_CHECK(kept.RemoveAbandoned());
  }
  const graph::StageTable stages = MakeStages();
  return graph::Execute(env, plan, stages, kept.Stores(),
                        {.dry_run = options.dry_run, .foresee = options.foresee});
}

/// After the last node: artifacts that no publication needs go, and the manifest gets the times. A failed run
/// keeps its packed artifacts, so that the next one need not pack them again.
Result<void> End(Env& env, const AbsPath& output, Kept& kept, const std::set<std::string>& waiting,
                 const std::vector<StageTime>& times) {
  PTPKG_TRY(publish::OutputFolder folder, publish::OutputFolder::Open(env, output));
  // Another run may have been killed while it published: its files must not be taken away from under that.
  PTPKG_CHECK(folder.Prepare());
  PTPKG_CHECK(CleanStaging(env, kept.staging(), waiting));
  return folder.WriteTimes(times);
}

/// Makes the output directory, and completes or undoes what a killed run left of a publication.
Result<void> PrepareOutput(Env& env, const AbsPath& output) {
  PTPKG_TRY(publish::OutputFolder folder, publish::OutputFolder::Open(env, output));
  return folder.Prepare();
}

/// The output directory that all nodes of `only` share; nullopt where none has one.
std::optional<AbsPath> OutputOfAny(const graph::Plan& plan, const std::set<std::string>& only) {
  for (const graph::Node& node : plan.nodes) {
    if (!only.contains(node.id)) continue;
    if (std::optional<AbsPath> output = OutputOf(node)) return output;
  }
  return std::nullopt;
}

}  // namespace

Result<BuildSummary> RunPlan(Env& env, const graph::Plan& plan, const AbsPath& output,
                             const RunOptions& options) {
  PTPKG_TRY(auto remote, OpenRemoteCache(env, options.remote_cache));
  Kept kept(env, output, std::move(remote));
  PTPKG_TRY(const std::vector<NodeOutcome> outcomes, Run(env, plan, output, kept, options));
  PTPKG_TRY(BuildSummary summary, Summarise(plan, outcomes));
  if (options.dry_run) return summary;
  auto ended = End(env, output, kept, WaitingKeys(plan, outcomes), summary.stages);
  if (ended) return summary;
  if (!summary.failure) return std::move(ended).error();
  env.reporter.Warn(fmt::format("cannot tidy the output directory: {}", ended.error().message()));
  return summary;
}

Result<BuildSummary> RunNode(Env& env, const AbsPath& file, const std::string& id) {
  PTPKG_TRY(const std::string text, ReadFile(env.fs, file));
  PTPKG_TRY(const Json json, ParseJson(text, file.str()));
  PTPKG_TRY(const graph::Plan plan, graph::PlanFromJson(json, file.str()));
  const graph::Node* node = plan.Find(id);
  const auto output = node == nullptr ? std::optional<AbsPath>() : OutputOf(*node);
  const AbsPath place = output.value_or(env.cache_dir / "nowhere");
  Kept kept(env, place);
  if (output) PTPKG_CHECK(PrepareOutput(env, place));
  const graph::StageTable stages = MakeStages();
  PTPKG_TRY(const NodeOutcome outcome, graph::ExecuteOne(env, plan, id, stages, kept.Stores()));
  BuildSummary summary;
  summary.stages.push_back(TimeOf(*node, outcome));
  PTPKG_CHECK(AddToSummary(*node, outcome, summary));
  return summary;
}

Result<PartOutcome> RunPart(Env& env, const graph::Plan& plan, const graph::ExecuteOptions& options,
                            const RemoteCacheOptions& remote_cache) {
  const std::optional<AbsPath> output = OutputOfAny(plan, *options.only);
  const AbsPath place = output.value_or(env.cache_dir / "nowhere");
  PTPKG_TRY(auto remote, OpenRemoteCache(env, remote_cache));
  Kept kept(env, place, std::move(remote));
  if (output) PTPKG_CHECK(PrepareOutput(env, place));
  const graph::StageTable stages = MakeStages();
  PartOutcome part;
  PTPKG_TRY(part.outcomes, graph::Execute(env, plan, stages, kept.Stores(), options));
  std::vector<NodeOutcome> own = part.outcomes;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (!options.only->contains(plan.nodes[i].id)) own[i] = NodeOutcome();
  }
  PTPKG_TRY(part.summary, Summarise(plan, own));
  return part;
}

Result<void> FinishParts(Env& env, const graph::Plan& plan, const std::vector<graph::NodeOutcome>& outcomes,
                         const std::vector<StageTime>& times) {
  for (const graph::Node& node : plan.nodes) {
    const std::optional<AbsPath> output = OutputOf(node);
    if (node.stage != "index" || !output) continue;
    Kept kept(env, *output);
    PTPKG_CHECK(End(env, *output, kept, WaitingKeys(plan, outcomes), times));
  }
  return Ok();
}

Result<std::vector<std::string>> DescribePlan(Env& env, const graph::Plan& plan, const AbsPath& output,
                                              const RemoteCacheOptions& remote_cache) {
  // Nothing is foreseen: another machine may run it. The lines are the answer; tasks that would say the same
  // are not shown.
  NullReporter silent;
  Env quiet = WithReporter(env, silent);
  PTPKG_TRY(auto remote, OpenRemoteCache(env, remote_cache));
  Kept kept(quiet, output, std::move(remote));
  PTPKG_TRY(const std::vector<NodeOutcome> outcomes,
            Run(quiet, plan, output, kept, {.dry_run = true, .foresee = false}));
  const std::vector<graph::NodeKey> keys = graph::KeysOf(plan);
  std::size_t width = 0;
  for (const graph::Node& node : plan.nodes) width = std::max(width, node.id.size());
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const std::string reason = TimeOf(plan.nodes[i], outcomes[i]).reason;
    lines.push_back(
        fmt::format("{:<{}}  {}  {}", plan.nodes[i].id, width, keys[i].key.substr(0, 12), reason));
  }
  return lines;
}

}  // namespace ptpkg::pipeline
