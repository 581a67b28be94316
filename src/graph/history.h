#pragma once
// Records node inputs to explain later reruns. Layer: graph. Only texts for people depend on it (--explain,
// names in `ptpkg cache`): whether a node runs is decided by its key alone.

#include <string>

#include "graph/plan.h"
#include "support/env.h"

namespace ptpkg::graph {

class History {
 public:
  /// Records lie at `<root>/<subject>/<stage>-<digest of the node's id>.json`: a package's and a wheel's
  /// check have subject and stage in common.
  History(Env& env, AbsPath root) : env_(&env), root_(std::move(root)) {}

  /// "first run", "'source', 'recipe.script' changed", or "inputs unchanged, result missing or damaged". A
  /// damaged record counts as none. One that cannot be read is warned of, and gives "last run unknown".
  std::string ChangeReason(const Node& node, const NodeKey& key);
  /// Warns when it cannot.
  void Remember(const Node& node, const NodeKey& key);
  /// Removes what killed runs left beside the records (scratch.h). Errors: kIo.
  Result<void> RemoveAbandoned();

 private:
  [[nodiscard]] AbsPath RecordPath(const Node& node) const;
  Result<std::string> Compare(const Node& node, const NodeKey& key);
  Result<void> Write(const Node& node, const NodeKey& key);

  Env* env_;
  AbsPath root_;
};

}  // namespace ptpkg::graph
