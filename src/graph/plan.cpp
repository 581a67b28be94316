// The build plan as data: nodes in an order in which each comes after its needs, and their keys.
//
// A key is a digest of the stage, its version, the inputs, and the keys of all needed nodes. So a change
// anywhere above reaches every node below it, and nothing else does. Fields of an input that is an object
// are digested one by one, which lets `--explain` name the changed field. Places and options are not part
// of the key, because they never change the result.
//
// A plan can come from a file that somebody else wrote. Hence CheckNames, since stages and subjects become
// paths below the cache, and hence the comparison of stated keys with computed ones. Credentials in options
// are dropped from the written plan.

#include "graph/plan.h"

#include <fmt/core.h>
#include <limits>
#include <set>

#include "support/digest/hash.h"
#include "support/text/display_text.h"
#include "support/text/name_problem.h"

namespace ptpkg::graph {

namespace {

constexpr int kPlanVersion = 1;

/// Compact, keys sorted: equal values, equal text.
std::string DigestOf(const Json& value) { return HashText(value.dump()).Hex(); }

NodeKey KeyOf(const Node& node, const std::map<std::string, std::string>& keys) {
  NodeKey result;
  // Named "ptpkg", so that --explain shows a new version of the stage as a change of the program.
  result.digests.emplace("ptpkg", DigestOf(node.version));
  for (const auto& [name, value] : node.inputs.items()) {
    if (!value.is_object()) {
      result.digests.emplace(name, DigestOf(value));
      continue;
    }
    for (const auto& [field, part] : value.items()) {
      result.digests.emplace(fmt::format("{}.{}", name, field), DigestOf(part));
    }
  }
  for (const auto& [role, id] : node.needs) result.digests.emplace(role, keys.at(id));
  KeyHasher hasher;
  hasher.Add("stage", node.stage);
  for (const auto& [name, digest] : result.digests) hasher.Add(name, digest);
  result.key = hasher.Finish().Hex();
  return result;
}

bool IsFileName(const std::string& text) {
  const auto path = RelPath::Parse(text);
  return path && path->ParentText().empty() && !NameProblem(text);
}

/// Stages and subjects become names of files below the cache, and ids lie below one another: a plan that
/// somebody wrote must not lead out of there.
Result<void> CheckNames(const Node& node) {
  const auto bad = [&](const char* what, const std::string& text, const char* rule) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("{} '{}' of node '{}' {}", what, ShownName(text), ShownName(node.id), rule))
        .WithHint("make the plan again with ptpkg");
  };
  if (!RelPath::Parse(node.id) || NameProblem(node.id))
    return bad("the id", node.id, "is not a relative path");
  if (!IsFileName(node.stage)) return bad("the stage", node.stage, "is not a file name");
  if (!IsFileName(node.subject)) return bad("the subject", node.subject, "is not a file name");
  return Ok();
}

Result<Node> NodeFromJson(const Json& json, std::string_view where) {
  static const std::set<std::string> kFields = {"id",     "stage",   "version", "subject", "inputs",
                                                "places", "options", "needs",   "after",   "key"};
  if (!json.is_object())
    return Error(ErrorCode::kInvalidInput, fmt::format("a node of {} is not an object", where));
  for (const auto& [name, value] : json.items()) {
    if (!kFields.contains(name)) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("a node of {} has an unknown field '{}'", where, name));
    }
  }
  Node node;
  PTPKG_TRY(node.id, JsonString(json, "id", where));
  const std::string place = fmt::format("node '{}' of {}", node.id, where);
  PTPKG_TRY(node.stage, JsonString(json, "stage", place));
  PTPKG_TRY(const std::int64_t version, JsonInteger(json, "version", place));
  if (version < 0 || version > std::numeric_limits<int>::max()) {
    return Error(ErrorCode::kInvalidInput, fmt::format("{} is not a version, in {}", version, place));
  }
  node.version = static_cast<int>(version);
  PTPKG_TRY(node.subject, JsonString(json, "subject", place));
  for (const char* name : {"inputs", "places", "options", "needs"}) {
    if (!json.contains(name) || !json[name].is_object()) {
      return Error(ErrorCode::kInvalidInput, fmt::format("'{}' in {} must be an object", name, place));
    }
  }
  node.inputs = json["inputs"];
  for (const auto& item : json["places"].items()) {
    PTPKG_TRY(const std::string text, JsonString(json["places"], item.key(), place));
    PTPKG_TRY(AbsPath path, AbsPath::Parse(text), fmt::format("while reading the places of {}", place));
    node.places.emplace(item.key(), std::move(path));
  }
  for (const auto& item : json["options"].items()) {
    PTPKG_TRY(node.options[item.key()], JsonString(json["options"], item.key(), place));
  }
  PTPKG_TRY(const std::vector<std::string> after, JsonStringsOr(json, "after", {}, place));
  node.after.insert(after.begin(), after.end());
  for (const auto& item : json["needs"].items()) {
    PTPKG_TRY(std::string id, JsonString(json["needs"], item.key(), place));
    node.needs.emplace(item.key(), std::move(id));
  }
  return node;
}

}  // namespace

const Node* Plan::Find(std::string_view id) const {
  for (const Node& node : nodes) {
    if (node.id == id) return &node;
  }
  return nullptr;
}

// One pass: needs come first in the list (CheckPlan).
std::vector<NodeKey> KeysOf(const Plan& plan) {
  std::map<std::string, std::string> keys;
  std::vector<NodeKey> result;
  for (const Node& node : plan.nodes) {
    result.push_back(KeyOf(node, keys));
    keys.emplace(node.id, result.back().key);
  }
  return result;
}

Result<void> CheckPlan(const Plan& plan) {
  std::set<std::string> seen;
  for (const Node& node : plan.nodes) {
    PTPKG_CHECK(CheckNames(node));
    for (const auto& [role, id] : node.needs) {
      if (seen.contains(id)) continue;
      return Error(
          ErrorCode::kInvalidInput,
          fmt::format("node '{}' needs '{}' as its {}, which does not come before it", node.id, id, role));
    }
    for (const std::string& id : node.after) {
      if (seen.contains(id)) continue;
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("node '{}' comes after '{}', which does not come before it", node.id, id));
    }
    if (!seen.insert(node.id).second) {
      return Error(ErrorCode::kInvalidInput, fmt::format("node '{}' occurs twice in the plan", node.id));
    }
  }
  return Ok();
}

Json PlanToJson(const Plan& plan) {
  const std::vector<NodeKey> keys = KeysOf(plan);
  Json nodes = Json::array();
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const Node& node = plan.nodes[i];
    Json places = Json::object();
    for (const auto& [name, path] : node.places) places[name] = path.str();
    Json options = Json::object();
    for (const auto& [name, value] : node.options) options[name] = DropCredentials(value);
    nodes.push_back({{"id", node.id},
                     {"stage", node.stage},
                     {"version", node.version},
                     {"subject", node.subject},
                     {"key", keys[i].key},
                     {"inputs", node.inputs},
                     {"places", places},
                     {"options", options},
                     {"needs", node.needs},
                     {"after", node.after}});
  }
  return {{"plan_version", kPlanVersion}, {"nodes", nodes}};
}

Result<Plan> PlanFromJson(const Json& json, std::string_view where) {
  if (!json.is_object() || !json.contains("nodes") || !json["nodes"].is_array()) {
    return Error(ErrorCode::kInvalidInput, fmt::format("{} is not a plan", where))
        .WithHint("create a plan with 'ptpkg build … --plan --json'");
  }
  PTPKG_TRY(const std::int64_t version, JsonInteger(json, "plan_version", where));
  if (version != kPlanVersion) {
    return Error(ErrorCode::kInvalidInput, fmt::format("{} has plan version {}, this ptpkg reads version {}",
                                                       where, version, kPlanVersion))
        .WithHint("make the plan and run its nodes with the same ptpkg");
  }
  Plan plan;
  for (const Json& item : json["nodes"]) {
    PTPKG_TRY(Node node, NodeFromJson(item, where));
    plan.nodes.push_back(std::move(node));
  }
  PTPKG_CHECK(CheckPlan(plan), fmt::format("while reading {}", where));
  // Keys are never taken from a plan: they are computed, and a stated one must agree.
  const std::vector<NodeKey> keys = KeysOf(plan);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    PTPKG_TRY(const std::string stated, JsonString(json["nodes"][i], "key", where));
    if (stated == keys[i].key) continue;
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the key of node '{}' in {} does not match its inputs", plan.nodes[i].id, where))
        .WithHint("the plan was edited or made by another version of ptpkg: make it again");
  }
  return plan;
}

}  // namespace ptpkg::graph
