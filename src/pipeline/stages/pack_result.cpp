// The value of a packing node is the list of records that the manifest will hold, so publishing adds nothing
// but checks. The files lie either in the node's own directory, under their names, or in the output
// directory, under their paths. FileOf tells the two apart, so later nodes need not know whether an artifact
// was packed now or found.
//
// FindPacked accepts a published result only if all of its artifacts are in the manifest under the node's
// key. With one of two formats missing, the node packs again.

#include "pipeline/stages/pack_result.h"

#include <algorithm>
#include <fmt/core.h>

#include "publish/output/output_folder.h"
#include "support/digest/hash.h"

namespace ptpkg::pipeline {

namespace {

Json RecordsToJson(const std::vector<ArtifactRecord>& records) {
  Json list = Json::array();
  for (const ArtifactRecord& record : records) list.push_back(ArtifactRecordToJson(record));
  return list;
}

std::string NameOf(const ArtifactRecord& record) { return record.path.substr(record.path.rfind('/') + 1); }

}  // namespace

Result<graph::NodeResult> PackedResult(const graph::NodeRun& run, const std::vector<Artifact>& artifacts,
                                       const std::string& subdir, const Packed& rest) {
  graph::NodeResult result;
  result.files.root = run.folder();
  std::vector<ArtifactRecord> records;
  std::string deflater;
  if (run.digests().contains("deflater")) {
    PTPKG_TRY(deflater, run.Text("deflater"));
  }
  for (const Artifact& artifact : artifacts) {
    const std::string name(artifact.path.Name());
    PTPKG_TRY(const RelPath path, artifact.path.RelativeTo(run.folder()));
    result.files.entries.push_back(
        {.path = path, .size_bytes = artifact.digests.size_bytes, .sha256 = artifact.digests.sha256});
    records.push_back({.path = publish::OutputFolder::PlaceOf(artifact.format, subdir, name).str(),
                       .format = std::string(ArtifactFormatName(artifact.format)),
                       .sha256 = artifact.digests.sha256.Hex(),
                       .md5 = artifact.digests.md5.Hex(),
                       .size_bytes = artifact.digests.size_bytes,
                       .unpacked_bytes = artifact.unpacked_bytes,
                       .inputs = run.digests(),
                       .deflater = deflater});
  }
  std::sort(result.files.entries.begin(), result.files.entries.end(),
            [](const TreeEntry& a, const TreeEntry& b) { return a.path < b.path; });
  result.value = {{"artifacts", RecordsToJson(records)},
                  {"forbidden", rest.forbidden},
                  {"unknown_requirements", rest.unknown_requirements}};
  return result;
}

Result<graph::NodeResult> SidecarResult(const graph::NodeRun& run,
                                        const std::vector<ArtifactRecord>& records) {
  graph::NodeResult result;
  result.files.root = run.folder();
  for (const ArtifactRecord& record : records) {
    PTPKG_TRY(const RelPath path, RelPath::Parse(NameOf(record)));
    PTPKG_TRY(const Sha256 sha256, Sha256::FromHex(record.sha256));
    result.files.entries.push_back({.path = path, .size_bytes = record.size_bytes, .sha256 = sha256});
  }
  std::sort(result.files.entries.begin(), result.files.entries.end(),
            [](const TreeEntry& a, const TreeEntry& b) { return a.path < b.path; });
  result.value = {{"artifacts", RecordsToJson(records)}};
  return result;
}

Result<Packed> ReadPacked(const graph::NodeResult& result) {
  constexpr std::string_view kResult = "the result of a packing stage";
  Packed packed;
  for (const Json& item : result.value.value("artifacts", Json::array())) {
    PTPKG_TRY(ArtifactRecord record, ArtifactRecordFromJson(item, kResult));
    packed.artifacts.push_back(std::move(record));
  }
  PTPKG_TRY(packed.forbidden, JsonStringsOr(result.value, "forbidden", {}, kResult));
  PTPKG_TRY(packed.unknown_requirements, JsonStringsOr(result.value, "unknown_requirements", {}, kResult));
  return packed;
}

Result<ArtifactRecord> FirstArtifact(const Packed& packed, const graph::NodeRun& run) {
  if (!packed.artifacts.empty()) return packed.artifacts.front();
  return Error(ErrorCode::kInvalidInput,
               fmt::format("'{}' needs a package, but the node in its plan made none", run.subject()))
      .WithHint("make the plan again with this version of ptpkg");
}

AbsPath FileOf(const graph::NodeResult& result, const ArtifactRecord& record) {
  const std::string name = NameOf(record);
  const bool in_folder = result.files.Find(name) != nullptr;
  return result.files.root / (in_folder ? name : record.path);
}

AbsPath PendingRoot(const Env& env, const AbsPath& output) {
  constexpr std::size_t kDigits = 16;
  return env.cache_dir / "waiting" / HashText(output.str()).Hex().substr(0, kDigits);
}

std::optional<AbsPath> OutputOf(const graph::Node& node) {
  const auto place = node.places.find("output");
  return place == node.places.end() ? std::nullopt : std::optional(place->second);
}

graph::NodeResult PublishedResult(const AbsPath& output, const std::vector<ArtifactRecord>& records) {
  graph::NodeResult result;
  result.files.root = output;
  for (const ArtifactRecord& record : records) {
    result.files.entries.push_back({.path = RelPath::Literal(record.path), .size_bytes = record.size_bytes});
  }
  result.value = {{"artifacts", RecordsToJson(records)}};
  return result;
}

std::size_t ArtifactCount(const graph::Node& node) {
  const auto count = node.inputs.find("count");
  if (count != node.inputs.end()) return count->is_number_unsigned() ? count->get<std::size_t>() : 0;
  return node.inputs.value("formats", Json::array({""})).size();
}

Result<std::optional<graph::NodeResult>> FindPacked(Env& env, const graph::Node& node, const std::string& key,
                                                    std::size_t count) {
  const std::optional<AbsPath> place = OutputOf(node);
  if (!place) return std::optional<graph::NodeResult>();
  PTPKG_TRY(publish::OutputFolder output, publish::OutputFolder::Open(env, *place));
  PTPKG_TRY(const std::vector<ArtifactRecord> records, output.ArtifactsOfNode(key));
  if (records.empty() || records.size() != count) return std::optional<graph::NodeResult>();
  return std::optional(PublishedResult(*place, records));
}

Result<std::optional<graph::NodeResult>> FindArtifacts(Env& env, const graph::Node& node,
                                                       const std::string& key) {
  return FindPacked(env, node, key, ArtifactCount(node));
}

}  // namespace ptpkg::pipeline
