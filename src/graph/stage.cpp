#include "graph/stage.h"

#include <fmt/core.h>

namespace ptpkg::graph {

Error NodeRun::MissingInput(std::string_view what, const std::string& name) const {
  return Error(ErrorCode::kInvalidInput, fmt::format("node '{}' has no {} '{}'", node_.id, what, name))
      .WithHint("make the plan again with this version of ptpkg");
}

Result<Json> NodeRun::Input(const std::string& name) const {
  if (!node_.inputs.contains(name)) return MissingInput("input", name);
  return node_.inputs[name];
}

Result<std::string> NodeRun::Text(const std::string& name) const {
  return JsonString(node_.inputs, name, fmt::format("the inputs of node '{}'", node_.id));
}

Result<std::uint64_t> NodeRun::Number(const std::string& name) const {
  const std::string where = fmt::format("the inputs of node '{}'", node_.id);
  PTPKG_TRY(const std::int64_t number, JsonInteger(node_.inputs, name, where));
  if (number >= 0) return static_cast<std::uint64_t>(number);
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' in {} is less than 0", name, where));
}

Result<std::vector<std::string>> NodeRun::Texts(const std::string& name) const {
  // JsonStringsOr takes a missing list for an empty one.
  PTPKG_TRY([[maybe_unused]] const Json list, Input(name));
  return JsonStringsOr(node_.inputs, name, {}, fmt::format("the inputs of node '{}'", node_.id));
}

bool NodeRun::Has(const std::string& option) const { return node_.options.contains(option); }

std::string NodeRun::Option(const std::string& name) const {
  const auto found = node_.options.find(name);
  return found == node_.options.end() ? "" : found->second;
}

Result<AbsPath> NodeRun::Place(const std::string& name) const {
  const auto found = node_.places.find(name);
  if (found == node_.places.end()) return MissingInput("place", name);
  return found->second;
}

Result<NodeResult> NodeRun::Need(const std::string& role) const {
  const auto found = needs_.find(role);
  if (found == needs_.end()) return MissingInput("result of", role);
  return found->second;
}

void StageTable::Add(Stage stage) {
  std::string name = stage.name;
  const bool is_new = stages_.emplace(std::move(name), std::move(stage)).second;
  PTPKG_ASSERT(is_new);
}

const Stage* StageTable::Find(std::string_view name) const {
  const auto found = stages_.find(name);
  return found == stages_.end() ? nullptr : &found->second;
}

Node StageTable::MakeNode(const std::string& stage, const std::string& subject) const {
  const Stage* found = Find(stage);
  PTPKG_ASSERT(found != nullptr);
  Node node;
  node.id = fmt::format("{}/{}", stage, subject);
  node.stage = stage;
  node.version = found->version;
  node.subject = subject;
  return node;
}

}  // namespace ptpkg::graph
