// Remembers the inputs of each node's last run, only to explain a later run ("'script' changed").
//
// The file name is a digest of the node's id, because ids contain '/' and have any length. A record that is
// missing or unreadable costs only the explanation, so its errors become warnings and never stop a build.
// Whether a node runs follows from its key alone.

#include "graph/history.h"

#include <fmt/format.h>
#include <vector>

#include "support/digest/hash.h"
#include "support/files/scratch.h"

namespace ptpkg::graph {

AbsPath History::RecordPath(const Node& node) const {
  // Ids hold '/', and have any length.
  constexpr std::size_t kDigits = 16;
  const std::string digest = HashText(node.id).Hex().substr(0, kDigits);
  return root_ / node.subject / fmt::format("{}-{}.json", node.stage, digest);
}

std::string History::ChangeReason(const Node& node, const NodeKey& key) {
  Result<std::string> reason = Compare(node, key);
  if (reason) return *std::move(reason);
  env_->reporter.Warn(fmt::format("cannot tell why '{}' runs: {}", node.id, reason.error().message()));
  return "last run unknown";
}

void History::Remember(const Node& node, const NodeKey& key) {
  const Result<void> written = Write(node, key);
  if (written) return;
  env_->reporter.Warn(
      fmt::format("later runs cannot tell why '{}' runs: {}", node.id, written.error().message()));
}

Result<std::string> History::Compare(const Node& node, const NodeKey& key) {
  const AbsPath path = RecordPath(node);
  PTPKG_TRY(const bool there, Exists(env_->fs, path));
  if (!there) return std::string("first run");
  PTPKG_TRY(const std::string text, ReadFile(env_->fs, path));
  const auto record = ParseJson(text, path.str());
  // An unreadable record counts as absent: the run that begins now writes a new one.
  if (!record || !record->is_object() || !record->contains("inputs") || !(*record)["inputs"].is_object()) {
    return std::string("first run");
  }
  const Json& before = (*record)["inputs"];
  std::vector<std::string> changed;
  for (const auto& [name, digest] : key.digests) {
    if (!before.contains(name) || before[name] != digest) changed.push_back("'" + name + "'");
  }
  for (const auto& [name, digest] : before.items()) {
    if (!key.digests.contains(name)) changed.push_back("'" + name + "'");
  }
  // The key was the same, so only the stored result can be the reason.
  if (changed.empty()) return std::string("inputs unchanged, result missing or damaged");
  return fmt::format("{} changed", fmt::join(changed, ", "));
}

Result<void> History::Write(const Node& node, const NodeKey& key) {
  const AbsPath path = RecordPath(node);
  PTPKG_CHECK(env_->fs.MakeDirs(path.Parent()));
  return WriteFile(env_->fs, path, DumpJson({{"key", key.key}, {"inputs", key.digests}}));
}

Result<void> History::RemoveAbandoned() {
  PTPKG_TRY(const bool there, Exists(env_->fs, root_));
  if (!there) return Ok();
  PTPKG_TRY(const std::vector<std::string> subjects, env_->fs.ListDir(root_));
  for (const std::string& subject : subjects) PTPKG_CHECK(ptpkg::RemoveAbandoned(*env_, root_ / subject));
  return Ok();
}

}  // namespace ptpkg::graph
