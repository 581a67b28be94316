// Idea: the plan is searched backwards from its aims. A node whose result is stored is reused, and what only
// it needs is not looked at; otherwise the node is marked as wanted, and so are its needs. Then one thread
// per node runs what is wanted as soon as the needs are there.
// Jobs are a budget shared by all running nodes. A node of a stage that is not parallel takes one job. A
// parallel node waits until two thirds of its fair share are free (the budget divided by the parallel nodes
// that run or are ready) and takes an equal part of what is free, so that a long download on one thread does
// not hold up a build. Light nodes take no job.
// Invariants: nodes start in plan order among those that are ready; after a failure only stages with
// `after_failures` still start; no exception leaves a node's thread; all state below `mutex_` is read and
// written under it once threads run.

#include "graph/executor.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fmt/core.h>
#include <mutex>
#include <system_error>
#include <thread>

#include "support/internal_error.h"
#include "support/text/json_utf8.h"

namespace ptpkg::graph {

namespace {

Error UnknownStage(const Node& node) {
  return Error(ErrorCode::kInvalidInput,
               fmt::format("node '{}' needs stage '{}' of version {}, which this ptpkg does not have",
                           node.id, node.stage, node.version))
      .WithHint("make the plan and run its nodes with the same ptpkg");
}

class Executor {
 public:
  Executor(Env& env, const Plan& plan, const StageTable& stages, Stores stores, ExecuteOptions options)
      : env_(env),
        plan_(plan),
        stages_(stages),
        stores_(stores),
        options_(options),
        keys_(KeysOf(plan)),
        outcomes_(plan.nodes.size()),
        wanted_(plan.nodes.size()),
        begin_(env.clock.Now()),
        jobs_(std::max(1, env.jobs)),
        free_jobs_(jobs_) {
    for (std::size_t i = 0; i < plan.nodes.size(); ++i) index_.emplace(plan.nodes[i].id, i);
  }

  Result<std::vector<NodeOutcome>> RunAll() {
    PTPKG_CHECK(CheckStages());
    PTPKG_CHECK(CheckStores());
    std::vector<bool> needed(plan_.nodes.size());
    for (const Node& node : plan_.nodes) {
      for (const auto& [role, id] : node.needs) needed[index_.at(id)] = true;
    }
    for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
      if (!needed[i]) PTPKG_CHECK(Want(i));
    }
    if (options_.foresee) PTPKG_CHECK(Foresee());
    ReportSkipped();
    if (options_.dry_run) return std::move(outcomes_);
    RunWanted();
    return std::move(outcomes_);
  }

  Result<NodeOutcome> RunOne(std::string_view id) {
    PTPKG_CHECK(CheckStages());
    PTPKG_CHECK(CheckStores());
    const auto found = index_.find(std::string(id));
    if (found == index_.end()) {
      return Error(ErrorCode::kNotFound, fmt::format("the plan has no node '{}'", id))
          .WithHint("the ids are listed under 'nodes' of the plan");
    }
    for (const auto& [role, need] : plan_.nodes[found->second].needs) {
      const std::size_t other = index_.at(need);
      PTPKG_TRY(const bool there, FindResult(other));
      if (there) continue;
      return Error(ErrorCode::kNotFound, fmt::format("the result of node '{}' is missing", need))
          .WithHint(fmt::format("run it first: ptpkg run-node PLAN {}", need));
    }
    PTPKG_TRY(const bool done, Reuse(found->second));
    if (!done) {
      wanted_[found->second] = true;
      PTPKG_CHECK(Foresee());
      outcomes_[found->second].reason = "asked for";
      RunNode(found->second, env_.jobs);
    }
    NodeOutcome outcome = std::move(outcomes_[found->second]);
    if (outcome.error) return *std::move(outcome.error);
    return outcome;
  }

 private:
  /// True: the node runs, whatever the store holds.
  static bool MustRerun(const Node& node) { return node.options.contains(std::string(kRefreshOption)); }
  const Stage& StageOf(std::size_t i) const { return *stages_.Find(plan_.nodes[i].stage); }
  [[nodiscard]] bool IsLight(std::size_t i) const {
    const Stage& stage = StageOf(i);
    return stage.is_light && stage.is_light(plan_.nodes[i]);
  }
  /// True if it takes a share of the jobs, and not just one, or none.
  [[nodiscard]] bool TakesShare(std::size_t i) const { return StageOf(i).parallel && !IsLight(i); }
  Store* StoreOf(const Stage& stage) const {
    if (stage.keep == Keep::kNothing) return nullptr;
    return stage.keep == Keep::kStore ? &stores_.cache : &stores_.staging;
  }

  Result<void> CheckStages() const {
    for (const Node& node : plan_.nodes) {
      const Stage* stage = stages_.Find(node.stage);
      if (stage == nullptr || stage->version != node.version) return UnknownStage(node);
    }
    return Ok();
  }

  /// Before anything runs: results name the directory that they lie in, as JSON.
  Result<void> CheckStores() const {
    PTPKG_CHECK(CheckUtf8(stores_.cache.root().str(), "the cache directory"));
    return CheckUtf8(stores_.staging.root().str(), "the output directory");
  }

  /// Fills the outcome with a result that is there already. A dry run reads no file of it.
  Result<bool> FindResult(std::size_t i) {
    const Node& node = plan_.nodes[i];
    const Stage& stage = StageOf(i);
    std::optional<NodeResult> result;
    if (stage.find) {
      PTPKG_TRY(result, stage.find(env_, node, keys_[i].key));
    }
    Store* store = StoreOf(stage);
    if (!result && store != nullptr) {
      if (options_.dry_run) {
        PTPKG_TRY(const bool holds, store->Holds(node.stage, keys_[i].key));
        if (holds) result = NodeResult{.key = keys_[i].key};
      } else {
        PTPKG_TRY(result, store->Take(node.stage, keys_[i].key));
      }
    }
    if (!result) return false;
    result->key = keys_[i].key;
    outcomes_[i] = {.state = NodeState::kFound, .reason = "inputs unchanged", .result = *std::move(result)};
    return true;
  }

  /// FindResult, unless the node is to be made anew.
  Result<bool> Reuse(std::size_t i) {
    if (MustRerun(plan_.nodes[i])) return false;
    return FindResult(i);
  }

  /// Finds the node's result, or marks it and what it needs to be run.
  Result<void> Want(std::size_t i) {
    if (wanted_[i] || outcomes_[i].state == NodeState::kFound) return Ok();
    PTPKG_CHECK(env_.cancel.Check());
    PTPKG_TRY(const bool reused, Reuse(i));
    if (reused) return Ok();
    wanted_[i] = true;
    if (MustRerun(plan_.nodes[i])) {
      outcomes_[i].reason = "asked for";
    } else if (StageOf(i).keep != Keep::kNothing) {
      outcomes_[i].reason = stores_.history.ChangeReason(plan_.nodes[i], keys_[i]);
    }
    for (const auto& [role, id] : plan_.nodes[i].needs) PTPKG_CHECK(Want(index_.at(id)));
    return Ok();
  }

  /// Lets each stage foresee all wanted nodes at once.
  Result<void> Foresee() {
    for (const auto& [name, stage] : stages_.stages()) {
      if (!stage.foresee) continue;
      std::vector<NodeRun> runs;
      for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
        if (!wanted_[i] || plan_.nodes[i].stage != name) continue;
        runs.emplace_back(plan_.nodes[i], keys_[i], std::map<std::string, NodeResult>(),
                          AbsPath::Literal("/nonexistent"));
      }
      if (!runs.empty()) PTPKG_CHECK(stage.foresee(env_, runs));
    }
    return Ok();
  }

  /// Nodes that run report themselves as tasks; one that does not is told here.
  void ReportSkipped() {
    for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
      NodeOutcome& outcome = outcomes_[i];
      const bool has_result = StageOf(i).keep != Keep::kNothing;
      if (wanted_[i]) {
        if (!options_.dry_run) continue;
        outcome.state = NodeState::kWouldRun;
        if (outcome.reason.empty()) outcome.reason = ReasonOfNeeds(i);
      } else if (outcome.state != NodeState::kFound) {
        outcome.state = NodeState::kNotNeeded;
        outcome.reason = "not needed, later results exist";
      }
      if (!has_result && !options_.dry_run) continue;
      const std::string told =
          options_.dry_run && wanted_[i] ? "would run: " + outcome.reason : outcome.reason;
      Task(env_.reporter, {.stage = plan_.nodes[i].stage, .subject = plan_.nodes[i].subject}).Skipped(told);
    }
  }

  [[nodiscard]] std::string ReasonOfNeeds(std::size_t i) const {
    for (const auto& [role, id] : plan_.nodes[i].needs) {
      if (wanted_[index_.at(id)]) return fmt::format("'{}' runs", id);
    }
    return "runs each time";
  }

  enum class Readiness : std::uint8_t { kReady, kWaiting, kNever };

  [[nodiscard]] Readiness ReadinessOf(std::size_t i) const {
    const Stage& stage = StageOf(i);
    std::size_t good = 0;
    bool waiting = false;
    bool failed = false;
    for (const auto& [role, id] : plan_.nodes[i].needs) {
      const std::size_t need = index_.at(id);
      const NodeState state = outcomes_[need].state;
      if (state == NodeState::kFound || state == NodeState::kRan) ++good;
      if (state == NodeState::kFailed || never_[need])
        failed = true;
      else if (state == NodeState::kNotReached)
        waiting = true;
    }
    for (const std::string& id : plan_.nodes[i].after) {
      const std::size_t other = index_.at(id);
      if (!wanted_[other]) continue;
      if (outcomes_[other].state == NodeState::kFailed || never_[other])
        failed = true;
      else if (outcomes_[other].state == NodeState::kNotReached)
        waiting = true;
    }
    if (waiting) return failed && !stage.after_failures ? Readiness::kNever : Readiness::kWaiting;
    if (failed && (!stage.after_failures || good == 0)) return Readiness::kNever;
    if (failed_ && !stage.after_failures) return Readiness::kNever;
    return Readiness::kReady;
  }

  struct Turn {
    std::vector<std::size_t> ready;
    bool left = false;  ///< Some have not been started yet.
  };
  /// Which nodes can start now. In the plan's order, so one pass settles what can never run.
  Turn NextTurn(const std::vector<bool>& started) {
    Turn turn;
    for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
      if (!wanted_[i] || started[i] || never_[i]) continue;
      const Readiness readiness = ReadinessOf(i);
      if (readiness == Readiness::kNever) never_[i] = true;
      if (readiness == Readiness::kReady) turn.ready.push_back(i);
      if (readiness != Readiness::kNever) turn.left = true;
    }
    return turn;
  }

  /// One thread per running node; this thread starts them and waits.
  void RunWanted() {
    never_.assign(plan_.nodes.size(), false);
    std::vector<bool> started(plan_.nodes.size());
    std::vector<std::jthread> threads;  // should this thread throw: they end before what they use
    std::unique_lock lock(mutex_);
    while (true) {
      const auto [ready, left] = NextTurn(started);
      if (!left && running_ == 0) break;
      const int share = FairShare(ready);
      for (std::size_t n = 0; n < ready.size(); ++n) {
        const bool light = IsLight(ready[n]);
        const int taken = light ? 0 : GrantJobs(ready, n, share);
        if (taken == 0 && !light) continue;
        started[ready[n]] = true;
        free_jobs_ -= taken;
        ++running_;
        if (TakesShare(ready[n])) ++running_parallel_;
        Start(threads, ready[n], taken, lock);
      }
      if (running_ > 0) changed_.wait(lock);
    }
  }

  /// The share of each parallel node if all running and ready ones had begun together.
  [[nodiscard]] int FairShare(const std::vector<std::size_t>& ready) const {
    const auto takes_share = [this](std::size_t i) { return TakesShare(i); };
    const auto waiting = static_cast<int>(std::count_if(ready.begin(), ready.end(), takes_share));
    return std::max(1, jobs_ / std::max(1, running_parallel_ + waiting));
  }

  /// The jobs of the n-th of `ready`: one thread, or an equal part of what the others leave; 0: it waits.
  /// Two thirds of a share, not all of it: else a download of an hour on one thread would stop a build.
  [[nodiscard]] int GrantJobs(const std::vector<std::size_t>& ready, std::size_t n, int share) const {
    if (free_jobs_ == 0) return 0;
    if (!StageOf(ready[n]).parallel) return 1;
    const int least = (2 * share + 2) / 3;
    if (free_jobs_ < least) return 0;
    int parallel = 0;
    int single = 0;
    for (std::size_t k = n; k < ready.size(); ++k) {
      if (!IsLight(ready[k])) ++(StageOf(ready[k]).parallel ? parallel : single);
    }
    return std::max(least, (free_jobs_ - single) / parallel);
  }

  /// `taken` of the jobs; 0: it may use all of them, beside the others.
  void Start(std::vector<std::jthread>& threads, std::size_t i, int taken,
             std::unique_lock<std::mutex>& lock) {
    const auto work = [this, i, taken] {
      RunNode(i, taken == 0 ? jobs_ : taken);
      const std::lock_guard guard(mutex_);
      free_jobs_ += taken;
      --running_;
      if (TakesShare(i)) --running_parallel_;
      if (outcomes_[i].state == NodeState::kFailed) failed_ = true;
      changed_.notify_all();
    };
    try {
      threads.emplace_back(work);
    } catch (const std::system_error&) {
      // The thread limit of this user is reached: one after the other then, on this thread.
      lock.unlock();
      work();
      lock.lock();
    }
  }

  void RunNode(std::size_t i, int jobs) {
    const auto start = env_.clock.Now();
    Result<NodeResult> result = MakeResultOrError(i, jobs);
    const std::chrono::duration<double> elapsed = env_.clock.Now() - start;
    const std::chrono::duration<double> waited = start - begin_;
    const std::lock_guard guard(mutex_);
    NodeOutcome& outcome = outcomes_[i];
    outcome.begin_seconds = waited.count();
    outcome.seconds = elapsed.count();
    if (result) {
      outcome.state = NodeState::kRan;
      if (!result->idle.empty()) outcome.reason = result->idle;
      outcome.result = *std::move(result);
      outcome.result.key = keys_[i].key;
    } else {
      outcome.state = NodeState::kFailed;
      outcome.error = std::move(result).error();
    }
  }

  /// Nobody else stands above a node's thread: an exception that left it would end the program at once, with
  /// the other nodes in the midst of their work.
  Result<NodeResult> MakeResultOrError(std::size_t i, int jobs) {
    try {
      return MakeResult(i, jobs);
    } catch (...) {
      return CurrentInternalError();
    }
  }

  Result<NodeResult> MakeResult(std::size_t i, int jobs) {
    const Node& node = plan_.nodes[i];
    const Stage& stage = StageOf(i);
    Env env = env_;
    env.jobs = jobs;
    PTPKG_TRY(env.source_date_epoch, EpochOf(node));
    std::map<std::string, NodeResult> needs;
    {
      const std::lock_guard guard(mutex_);
      for (const auto& [role, id] : node.needs) {
        const NodeOutcome& need = outcomes_[index_.at(id)];
        if (need.state == NodeState::kFound || need.state == NodeState::kRan)
          needs.emplace(role, need.result);
      }
    }
    std::unique_ptr<Claim> claim;
    const auto run = [&](const AbsPath& folder) {
      return stage.run(env, NodeRun(node, keys_[i], needs, folder, claim.get()));
    };
    Store* store = StoreOf(stage);
    if (store == nullptr) return run(AbsPath::Literal("/nonexistent"));
    const auto if_there = MustRerun(node) ? Store::ExistingResult::kReplace : Store::ExistingResult::kTake;
    if (stage.claim) {
      PTPKG_TRY(claim, stage.claim(env, node, keys_[i]));
    }
    if (claim && if_there == Store::ExistingResult::kTake) {
      PTPKG_TRY(std::optional<NodeResult> made, store->Take(node.stage, keys_[i].key));
      if (made) {
        claim->OnStored();
        made->idle = "another run has built it meanwhile";
        return *std::move(made);
      }
    }
    PTPKG_TRY(NodeResult result, store->Put(node.stage, keys_[i].key, run, if_there));
    stores_.history.Remember(node, keys_[i]);
    if (claim) claim->OnStored();
    return result;
  }

  static Result<std::int64_t> EpochOf(const Node& node) {
    if (!node.inputs.contains("source_date_epoch")) return std::int64_t{0};
    return JsonInteger(node.inputs, "source_date_epoch", fmt::format("the inputs of node '{}'", node.id));
  }

  Env& env_;
  const Plan& plan_;
  const StageTable& stages_;
  Stores stores_;
  ExecuteOptions options_;
  std::vector<NodeKey> keys_;
  std::map<std::string, std::size_t> index_;
  std::vector<NodeOutcome> outcomes_;
  std::vector<bool> wanted_;
  std::vector<bool> never_;
  const std::chrono::steady_clock::time_point begin_;

  std::mutex mutex_;  // of outcomes_ while threads run, and of all below
  std::condition_variable changed_;
  const int jobs_;
  int free_jobs_;
  int running_ = 0;
  int running_parallel_ = 0;  // of these
  bool failed_ = false;
};

}  // namespace

Result<std::vector<NodeOutcome>> Execute(Env& env, const Plan& plan, const StageTable& stages, Stores stores,
                                         const ExecuteOptions& options) {
  return Executor(env, plan, stages, stores, options).RunAll();
}

Result<NodeOutcome> ExecuteOne(Env& env, const Plan& plan, std::string_view id, const StageTable& stages,
                               Stores stores) {
  return Executor(env, plan, stages, stores, {}).RunOne(id);
}

}  // namespace ptpkg::graph
