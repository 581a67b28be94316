#pragma once
// Looks up the nodes, keys and stages of a plan by number. Layer: graph.

#include <map>
#include <string>
#include <vector>

#include "graph/plan.h"
#include "graph/stage.h"

namespace ptpkg::graph {

/// A valid plan (CheckPlan) with the keys of its nodes. Borrows the plan and the stages.
class IndexedPlan {
 public:
  IndexedPlan(const Plan& plan, const StageTable& stages)
      : plan_(plan), stages_(stages), keys_(KeysOf(plan)) {
    for (std::size_t i = 0; i < plan.nodes.size(); ++i) index_.emplace(plan.nodes[i].id, i);
  }

  [[nodiscard]] std::size_t size() const { return plan_.nodes.size(); }
  [[nodiscard]] const std::vector<Node>& nodes() const { return plan_.nodes; }
  [[nodiscard]] const Node& NodeAt(std::size_t i) const { return plan_.nodes[i]; }
  [[nodiscard]] const NodeKey& KeyAt(std::size_t i) const { return keys_[i]; }
  [[nodiscard]] const StageTable& stages() const { return stages_; }
  /// REQUIRES: `stages` has the stage of the node.
  [[nodiscard]] const Stage& StageAt(std::size_t i) const { return *stages_.Find(plan_.nodes[i].stage); }
  /// Number of a node by its id. REQUIRES: the plan has it.
  [[nodiscard]] std::size_t IndexOf(const std::string& id) const { return index_.at(id); }
  /// nullopt: the plan has no such node.
  [[nodiscard]] std::optional<std::size_t> Find(std::string_view id) const {
    const auto found = index_.find(std::string(id));
    return found == index_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const Plan& plan_;
  const StageTable& stages_;
  std::vector<NodeKey> keys_;
  std::map<std::string, std::size_t> index_;
};

}  // namespace ptpkg::graph
