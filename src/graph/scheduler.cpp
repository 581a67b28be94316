// Idea: one thread per running node; the calling thread starts them and waits. Jobs are a budget shared by
// all running nodes. A node of a stage that is not parallel takes one job. A parallel node waits until two
// thirds of its fair share are free (the budget divided by the parallel nodes that run or are ready) and
// takes an equal part of what is free, so that a long download on one thread does not hold up a build. Light
// nodes take no job. The thread of a node that has ended uploads its result, and Run() returns after all
// uploads. Invariants: nodes start in plan order among those that are ready; after a failure only stages with
// `after_failures` still start; no exception leaves a node's thread; queue and budget are read and written
// under `mutex_` once threads run, and so are outcomes, which only a node's own thread reads without it.

#include "graph/scheduler.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <semaphore>
#include <system_error>
#include <thread>

namespace ptpkg::graph {

namespace {

constexpr std::ptrdiff_t kMostUploads = 2;

JobUse JobUseOf(const IndexedPlan& plan, std::size_t i) {
  const Stage& stage = plan.StageAt(i);
  if (stage.is_light && stage.is_light(plan.NodeAt(i))) return JobUse::kNone;
  return stage.parallel ? JobUse::kShare : JobUse::kOne;
}

/// The wanted nodes that have not started yet.
class NodeQueue {
 public:
  NodeQueue(const IndexedPlan& plan, const std::vector<bool>& wanted,
            const std::vector<NodeOutcome>& outcomes)
      : plan_(plan), wanted_(wanted), outcomes_(outcomes), started_(plan.size()), never_(plan.size()) {}

  struct Turn {
    std::vector<std::size_t> ready;
    bool left = false;  ///< Some have not been started yet.
  };
  /// Which nodes can start now. In the plan's order, so one pass settles what can never run.
  Turn Next() {
    Turn turn;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (!wanted_[i] || started_[i] || never_[i]) continue;
      const Readiness readiness = ReadinessOf(i);
      if (readiness == Readiness::kNever) never_[i] = true;
      if (readiness == Readiness::kReady) turn.ready.push_back(i);
      if (readiness != Readiness::kNever) turn.left = true;
    }
    return turn;
  }

  void MarkStarted(std::size_t i) { started_[i] = true; }
  /// A node failed: others start only if their stage runs after failures.
  void MarkFailure() { failed_ = true; }

 private:
  enum class Readiness : std::uint8_t { kReady, kWaiting, kNever };

  /// kWaiting, kNever: it has not run yet, or it failed or cannot run.
  [[nodiscard]] Readiness StateOf(std::size_t i) const {
    const NodeState state = outcomes_[i].state;
    if (state == NodeState::kFailed || never_[i]) return Readiness::kNever;
    return state == NodeState::kNotReached ? Readiness::kWaiting : Readiness::kReady;
  }

  [[nodiscard]] Readiness ReadinessOf(std::size_t i) const {
    const Node& node = plan_.NodeAt(i);
    const Stage& stage = plan_.StageAt(i);
    std::size_t good = 0;
    bool waiting = false;
    bool failed = false;
    const auto look_at = [&](std::size_t earlier) {
      const Readiness state = StateOf(earlier);
      waiting |= state == Readiness::kWaiting;
      failed |= state == Readiness::kNever;
    };
    for (const auto& [role, id] : node.needs) {
      const std::size_t need = plan_.IndexOf(id);
      if (HasResult(outcomes_[need])) ++good;
      look_at(need);
    }
    for (const std::string& id : node.after) {
      const std::size_t earlier = plan_.IndexOf(id);
      if (wanted_[earlier]) look_at(earlier);
    }
    // One failed need settles a node. Stages that run after failures wait for the other needs.
    if (waiting) return failed && !stage.after_failures ? Readiness::kNever : Readiness::kWaiting;
    if (failed && (!stage.after_failures || good == 0)) return Readiness::kNever;
    if (failed_ && !stage.after_failures) return Readiness::kNever;
    return Readiness::kReady;
  }

  const IndexedPlan& plan_;
  const std::vector<bool>& wanted_;
  const std::vector<NodeOutcome>& outcomes_;
  std::vector<bool> started_;
  std::vector<bool> never_;
  bool failed_ = false;
};

class Scheduler {
 public:
  Scheduler(const Execution& execution, const std::vector<bool>& wanted, std::vector<NodeOutcome>& outcomes)
      : execution_(execution),
        outcomes_(outcomes),
        queue_(execution.plan, wanted, outcomes),
        budget_(std::max(1, execution.env.jobs)) {}

  void Run() {
    std::vector<std::jthread> threads;  // should this thread throw: they end before what they use
    std::unique_lock lock(mutex_);
    while (true) {
      const auto [ready, left] = queue_.Next();
      if (!left && budget_.IsIdle()) break;
      std::vector<JobUse> uses;
      for (const std::size_t i : ready) uses.push_back(JobUseOf(execution_.plan, i));
      const int share = budget_.FairShare(uses);
      for (std::size_t n = 0; n < ready.size(); ++n) {
        const bool light = uses[n] == JobUse::kNone;
        // Only the nodes from this one on share the free jobs: those before it have taken theirs, or wait.
        const int taken = light ? 0 : budget_.Grant(std::span(uses).subspan(n), share);
        if (taken == 0 && !light) continue;
        queue_.MarkStarted(ready[n]);
        budget_.Begin(uses[n], taken);
        Start(threads, {ready[n], uses[n], taken}, lock);
      }
      if (!budget_.IsIdle()) changed_.wait(lock);
    }
  }

 private:
  struct StartedNode {
    std::size_t index;
    JobUse use;
    int taken;  ///< Of the jobs; 0: it may use all of them, beside the others.
  };

  void Start(std::vector<std::jthread>& threads, const StartedNode& node,
             std::unique_lock<std::mutex>& lock) {
    const auto work = [this, node] {
      Work(node);
      Share(node.index);  // while the nodes that need the result run
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

  void Work(const StartedNode& node) {
    const auto needs = [&] {
      const std::lock_guard guard(mutex_);
      return NeedsOf(execution_.plan, node.index, outcomes_);
    };
    NodeOutcome made = RunNode(execution_, node.index, needs, node.taken == 0 ? budget_.jobs() : node.taken);
    const std::lock_guard guard(mutex_);
    NodeOutcome& outcome = outcomes_[node.index];
    if (made.reason.empty()) made.reason = std::move(outcome.reason);
    if (made.state == NodeState::kFailed) queue_.MarkFailure();
    outcome = std::move(made);
    budget_.End(node.use, node.taken);
    changed_.notify_all();
  }

  void Share(std::size_t i) {
    NodeOutcome& outcome = outcomes_[i];
    if (outcome.state != NodeState::kRan) return;
    uploads_.acquire();
    const bool is_shared = ShareResult(execution_, i, outcome.result);
    uploads_.release();
    if (!is_shared) return;
    const std::lock_guard guard(mutex_);
    outcome.result.counts[kRemoteUploads] = 1;
  }

  const Execution& execution_;
  std::vector<NodeOutcome>& outcomes_;
  NodeQueue queue_;
  JobBudget budget_;
  std::mutex mutex_;  // of outcomes_, queue_ and budget_
  /// Uploads take no job, and share the link.
  std::counting_semaphore<kMostUploads> uploads_{kMostUploads};
  std::condition_variable changed_;
};

}  // namespace

int JobBudget::FairShare(std::span<const JobUse> ready) const {
  const auto waiting = static_cast<int>(std::count(ready.begin(), ready.end(), JobUse::kShare));
  return std::max(1, jobs_ / std::max(1, running_parallel_ + waiting));
}

int JobBudget::Grant(std::span<const JobUse> ready, int share) const {
  if (free_ == 0) return 0;
  if (ready.front() == JobUse::kOne) return 1;
  const int least = (2 * share + 2) / 3;
  if (free_ < least) return 0;
  const auto parallel = static_cast<int>(std::count(ready.begin(), ready.end(), JobUse::kShare));
  const auto single = static_cast<int>(std::count(ready.begin(), ready.end(), JobUse::kOne));
  return std::max(least, (free_ - single) / parallel);
}

void JobBudget::Begin(JobUse use, int taken) {
  free_ -= taken;
  ++running_;
  if (use == JobUse::kShare) ++running_parallel_;
}

void JobBudget::End(JobUse use, int taken) {
  free_ += taken;
  --running_;
  if (use == JobUse::kShare) --running_parallel_;
}

void RunWanted(const Execution& execution, const std::vector<bool>& wanted,
               std::vector<NodeOutcome>& outcomes) {
  Scheduler(execution, wanted, outcomes).Run();
}

NeededResults NeedsOf(const IndexedPlan& plan, std::size_t i, const std::vector<NodeOutcome>& outcomes) {
  NeededResults needs;
  for (const auto& [role, id] : plan.NodeAt(i).needs) {
    const NodeOutcome& need = outcomes[plan.IndexOf(id)];
    if (HasResult(need)) needs.emplace(role, need.result);
  }
  return needs;
}

}  // namespace ptpkg::graph
