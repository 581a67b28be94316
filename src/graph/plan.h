#pragma once
// Serialisable build plan: nodes, inputs and keys. Layer: graph. It knows no package format; pipeline/ writes
// plans, executor.h runs them.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/path.h"
#include "support/text/json.h"

namespace ptpkg::graph {

/// Name of the option of a node whose result is made although one is there, which it replaces.
inline constexpr std::string_view kRefreshOption = "refresh";

/// A step. All input of its stage is here. Stage, version, inputs, and role and key of each need
/// enter the node's key. There is no other way into a stage (stage.h), so an input cannot be forgotten in the
/// key.
struct Node {
  std::string id;       ///< "conda/toytorch-1.0-py311_0": unique in its plan.
  std::string stage;    ///< Name of the stage that runs it.
  int version = 1;      ///< Version of the stage: raised when equal inputs give another result.
  std::string subject;  ///< Name in messages: "toytorch-1.0-py311_0". Not in the key.
  Json inputs = Json::object();
  /// Paths of the content that `inputs` name by digest, and of the results. Not in the key:
  /// two machines with the same content have the same keys.
  std::map<std::string, AbsPath> places = {};
  /// How the stage works, never what it makes: {"force": ""}, {"python": "/opt/python3"}. Not in the key.
  std::map<std::string, std::string> options = {};
  std::map<std::string, std::string> needs = {};  ///< Role → id of an earlier node whose result is read.
  /// Ids of earlier nodes that must have ended well, if they run at all: the checks of a package before hours
  /// are spent on what is built with it. Not in the key.
  std::set<std::string> after = {};
};

/// Nodes in an order in which each comes after those that it needs.
struct Plan {
  std::vector<Node> nodes;

  [[nodiscard]] const Node* Find(std::string_view id) const;
};

/// The digests that make up one node's key, by the name that people read in "'source' changed". Objects among
/// the inputs give one digest a field: "recipe.script".
struct NodeKey {
  std::map<std::string, std::string> digests;
  std::string key;  ///< 64 hex digits.
};

/// Keys of all nodes, in the plan's order. REQUIRES: a valid plan (CheckPlan).
std::vector<NodeKey> KeysOf(const Plan& plan);

/// Errors: kInvalidInput for an id that is there twice, a need that does not come earlier, and an id, stage
/// or subject that could not be the name of a file (of an id, a relative path).
Result<void> CheckPlan(const Plan& plan);

/// {"plan_version": 1, "nodes": [{id, stage, version, subject, key, inputs, places, options, needs, after}]}.
/// URLs in options lose user and password: who runs the plan has credentials of their own.
Json PlanToJson(const Plan& plan);
/// Errors: kInvalidInput naming `where`: another plan_version, a missing or unknown field, a node whose key
/// is not that of its inputs (the file was edited, or is of another version of ptpkg), and those of
/// CheckPlan.
Result<Plan> PlanFromJson(const Json& json, std::string_view where);

}  // namespace ptpkg::graph
