#pragma once
// Finds the stored result of a node, or makes it. Layer: graph.

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "graph/executor.h"
#include "graph/indexed_plan.h"

namespace ptpkg::graph {

/// Inputs of an execution that stay the same for all nodes.
struct Execution {
  Env& env;
  const IndexedPlan& plan;
  Stores stores;
  std::chrono::steady_clock::time_point begin;
  const ExecuteOptions& options;
};

/// Results by the role that a node needs them in.
using NeededResults = std::map<std::string, NodeResult>;

/// True: the node runs, whatever the store holds.
bool MustRerun(const Node& node);

/// True if `outcome` has a result.
bool HasResult(const NodeOutcome& outcome);

/// The stored result of node `i`, of another machine if need be; nullopt: none. With `dry_run`, none of its
/// files is read. Errors: from Stage::find and the stores.
Result<std::optional<NodeResult>> FindResult(const Execution& execution, std::size_t i, bool dry_run);

/// Runs node `i` with `jobs` jobs and keeps its result as its stage asks. Any thread, which calls `needs`
/// once. Failures of the node and exceptions are outcomes. The reason of the outcome is empty unless the node
/// had nothing to do.
NodeOutcome RunNode(const Execution& execution, std::size_t i, const std::function<NeededResults()>& needs,
                    int jobs);

/// Uploads the result of node `i`, if other machines share it and RunNode has made it. Nodes that need the
/// result don't wait for this. True: the remote store has it from this run. Failures are warnings.
bool ShareResult(const Execution& execution, std::size_t i, const NodeResult& result);

}  // namespace ptpkg::graph
