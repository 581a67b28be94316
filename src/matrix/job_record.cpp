#include "matrix/job_record.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <map>

#include "model/artifact_record.h"
#include "model/tree_json.h"
#include "support/digest/hash.h"

namespace ptpkg::matrix {

namespace {

constexpr std::array<std::string_view, 4> kEnds = {"passed", "failed", "stopped", "fenced"};

double SecondsOf(const Json& json, const char* key) {
  const Json value = json.value(key, Json(0));
  return value.is_number() ? value.get<double>() : 0;
}

Result<NodeRecord> NodeFromJson(const Json& json, std::string_view where) {
  NodeRecord node;
  PTPKG_TRY(node.id, JsonString(json, "id", where));
  PTPKG_TRY(node.key, JsonString(json, "key", where));
  PTPKG_TRY(node.state, JsonString(json, "state", where));
  PTPKG_TRY(node.reason, JsonStringOr(json, "reason", "", where));
  PTPKG_TRY(node.digest, JsonStringOr(json, "digest", "", where));
  node.begin_seconds = SecondsOf(json, "begin_seconds");
  node.seconds = SecondsOf(json, "seconds");
  return node;
}

}  // namespace

std::string_view JobEndName(JobEnd end) { return kEnds.at(static_cast<std::size_t>(end)); }

const NodeRecord* JobRecord::Find(std::string_view id) const {
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const auto& node) { return node.id == id; });
  return found == nodes.end() ? nullptr : &*found;
}

bool JobRecord::IsCached() const {
  return end == JobEnd::kPassed &&
         std::none_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.state == "ran"; });
}

Json JobRecordToJson(const JobRecord& record) {
  Json nodes = Json::array();
  for (const NodeRecord& node : record.nodes) {
    nodes.push_back({{"id", node.id},
                     {"key", node.key},
                     {"state", node.state},
                     {"reason", node.reason},
                     {"begin_seconds", node.begin_seconds},
                     {"seconds", node.seconds},
                     {"digest", node.digest}});
  }
  return {{"state", JobEndName(record.end)}, {"started", record.started_s},     {"seconds", record.seconds},
          {"error", record.error},           {"error_code", record.error_code}, {"nodes", nodes},
          {"inputs", record.inputs}};
}

Result<JobRecord> JobRecordFromJson(const Json& json, std::string_view where) {
  if (!json.is_object()) return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a record", where));
  JobRecord record;
  PTPKG_TRY(const std::string end, JsonString(json, "state", where));
  const auto* const found = std::find(kEnds.begin(), kEnds.end(), end);
  if (found == kEnds.end())
    return Error(ErrorCode::kInvalidInput, fmt::format("unknown state '{}' in '{}'", end, where));
  record.end = static_cast<JobEnd>(found - kEnds.begin());
  PTPKG_TRY(record.started_s, JsonInteger(json, "started", where));
  record.seconds = SecondsOf(json, "seconds");
  PTPKG_TRY(record.error, JsonStringOr(json, "error", "", where));
  PTPKG_TRY(record.error_code, JsonStringOr(json, "error_code", "", where));
  for (const Json& item : json.value("nodes", Json::array())) {
    PTPKG_TRY(NodeRecord node, NodeFromJson(item, where));
    record.nodes.push_back(std::move(node));
  }
  const Json inputs = json.value("inputs", Json::object());
  for (const auto& [id, digest] : inputs.items()) {
    if (digest.is_string()) record.inputs.emplace(id, digest.get<std::string>());
  }
  return record;
}

std::string DigestOfResult(const graph::NodeResult& result) {
  const auto artifacts = result.value.find("artifacts");
  if (artifacts != result.value.end() && artifacts->is_array() && !artifacts->empty()) {
    std::map<std::string, std::string> digests;
    for (const Json& item : *artifacts) {
      const auto record = ArtifactRecordFromJson(item, "a result");
      // A list that cannot be read is another result for each change of it.
      digests.emplace(record ? record->path : item.dump(), record ? record->sha256 : "");
    }
    KeyHasher hasher;
    for (const auto& [path, sha256] : digests) hasher.Add(path, sha256);
    return hasher.Finish().Hex();
  }
  if (result.files.entries.empty()) return HashText(result.key).Hex();
  return HashText(Json{{"value", result.value}, {"files", TreeToJson(result.files)}}.dump()).Hex();
}

}  // namespace ptpkg::matrix
