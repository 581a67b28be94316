#pragma once
// Runs the wanted nodes of a plan in parallel. Layer: graph.

#include <span>
#include <vector>

#include "graph/node_result.h"

namespace ptpkg::graph {

/// Jobs that a node takes while it runs.
enum class JobUse : std::uint8_t {
  kNone,  ///< Stage::is_light
  kOne,
  kShare,  ///< Stage::parallel: an equal part of the budget.
};

/// The jobs of a run, shared by all running nodes.
class JobBudget {
 public:
  explicit JobBudget(int jobs) : jobs_(jobs), free_(jobs) {}

  /// Jobs of all nodes together.
  [[nodiscard]] int jobs() const { return jobs_; }
  /// No node runs.
  [[nodiscard]] bool IsIdle() const { return running_ == 0; }
  /// The share of each parallel node if all running and `ready` ones had begun together.
  [[nodiscard]] int FairShare(std::span<const JobUse> ready) const;
  /// The jobs of the first of `ready`: one, or an equal part of the free jobs; 0: it waits for jobs.
  /// Two thirds of a share, not all of it: else a download of an hour on one thread would stop a build.
  /// REQUIRES: it is not kNone. `share`: FairShare of all nodes that were ready in this turn.
  [[nodiscard]] int Grant(std::span<const JobUse> ready, int share) const;
  /// A node of that use starts with `taken` jobs, or ends.
  void Begin(JobUse use, int taken);
  void End(JobUse use, int taken);

 private:
  int jobs_;
  int free_;
  int running_ = 0;
  int running_parallel_ = 0;  // of these
};

/// Runs the nodes that are `wanted`, each as soon as its needs are there, in the plan's order among those
/// that are ready. After a failure only stages with `after_failures` start. `outcomes` has the results that
/// were found; the others get theirs, and keep their reason unless they had nothing to do.
void RunWanted(const Execution& execution, const std::vector<bool>& wanted,
               std::vector<NodeOutcome>& outcomes);

/// The results in `outcomes` that node `i` needs, as far as there are any.
NeededResults NeedsOf(const IndexedPlan& plan, std::size_t i, const std::vector<NodeOutcome>& outcomes);

}  // namespace ptpkg::graph
