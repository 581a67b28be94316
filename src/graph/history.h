#pragma once
// The inputs of each node's last run, so that a later run can say what has changed. Layer: graph.
// Nothing but explanations depends on it: whether a node runs is decided by its key alone.

#include <string>

#include "graph/plan.h"
#include "support/env.h"

namespace ptpkg::graph {

class History {
 public:
  /// Records lie at `<root>/<subject>/<stage>.json`.
  History(Env& env, AbsPath root) : env_(&env), root_(std::move(root)) {}

  /// "first run", "'source', 'recipe.script' changed", or "inputs unchanged, result missing". A damaged
  /// record counts as none. Errors: kIo.
  Result<std::string> WhyChanged(const Node& node, const NodeKey& key);
  Result<void> Remember(const Node& node, const NodeKey& key);
  /// Removes what killed runs left beside the records (scratch.h). Errors: kIo.
  Result<void> RemoveAbandoned();

 private:
  [[nodiscard]] AbsPath RecordPath(const Node& node) const;

  Env* env_;
  AbsPath root_;
};

}  // namespace ptpkg::graph
