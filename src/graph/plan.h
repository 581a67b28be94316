#pragma once
// Serialisable build plan: nodes, inputs and keys. Layer: graph. It depends on no package format. pipeline/
// writes plans, executor.h runs them.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/path.h"
#include "support/text/json.h"

namespace ptpkg::graph {

/// Name of the option of a node that makes its result even if one exists, and replaces it.
inline constexpr std::string_view kRefreshOption = "refresh";

/// A step. It holds all input of its stage. Stage, version, inputs, and role and key of each need enter the
/// node's key. There is no other way into a stage (stage.h), so no input can be missing from the key.
struct Node {
  std::string id;       ///< "conda/toytorch-1.0-py311_0": unique in its plan.
  std::string stage;    ///< Name of the stage that runs it.
  int version = 1;      ///< Version of the stage: incremented when equal inputs give another result.
  std::string subject;  ///< Name in messages: "toytorch-1.0-py311_0". Not in the key.
  Json inputs = Json::object();
  /// Paths of the content that `inputs` name by digest, and of the results. Not in the key:
  /// two machines with the same content have the same keys.
  std::map<std::string, AbsPath> places = {};
  /// Options that affect how the stage works, never its result: {"force": ""}, {"python": "/opt/python3"}.
  /// Not in the key.
  std::map<std::string, std::string> options = {};
  std::map<std::string, std::string> needs = {};  ///< Role → id of an earlier node whose result is read.
  /// Ids of earlier nodes that must have succeeded, if they run at all. Example: the checks of a package run
  /// before builds that use it for hours. Not in the key.
  std::set<std::string> after = {};
};

/// Nodes in an order in which each follows the nodes that it needs.
struct Plan {
  std::vector<Node> nodes;

  [[nodiscard]] const Node* Find(std::string_view id) const;
};

/// The digests that make up one node's key, by the name that people read in "'source' changed". For objects
/// among the inputs, each field has its own digest: "recipe.script".
struct NodeKey {
  std::map<std::string, std::string> digests;
  std::string key;  ///< 64 hex digits.
};

/// Keys of all nodes, in the plan's order. REQUIRES: a valid plan (CheckPlan).
std::vector<NodeKey> KeysOf(const Plan& plan);

/// Errors: kInvalidInput for a duplicate id, a need that does not come earlier, and an invalid id, stage or
/// subject. They must be valid as the name of a file (an id as a relative path).
Result<void> CheckPlan(const Plan& plan);

/// {"plan_version": 1, "nodes": [{id, stage, version, subject, key, inputs, places, options, needs, after}]}.
/// URLs in options lose user and password: whoever runs the plan uses their own credentials.
Json PlanToJson(const Plan& plan);
/// Errors: as CheckPlan, and kInvalidInput naming `where`: another plan_version, a missing or unknown field.
/// Also for a node whose key does not match its inputs, because the file was edited, or comes from another
/// version of ptpkg.
Result<Plan> PlanFromJson(const Json& json, std::string_view where);

}  // namespace ptpkg::graph
