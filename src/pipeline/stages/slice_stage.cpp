// Slices are made from packages that passed their checks and tests: slicing takes minutes, lost on a package
// that is not published. The plan must know how many artifacts come out, because signing and publishing count
// on it: one per GPU, and for variant wheels a null variant.
//
// The unpacked size of a conda slice follows from the whole package and the differences of the files. A
// wheel's is counted from its members, without RECORD.
//
// A slice's local version is longer than the wheel's and counts as newer (PEP 440). In one index installers
// would choose it for any GPU, so a warning recommends separate indexes or variant wheels.

#include "pipeline/stages/slice_stage.h"

#include <fmt/core.h>

#include "archive/extract.h"
#include "pipeline/edit_wheel/wheel_form.h"
#include "pipeline/slice/slice.h"
#include "pipeline/stages/pack_result.h"
#include "pipeline/stages/stages.h"
#include "support/assert.h"
#include "support/digest/hash.h"
#include "support/text/json.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {
namespace {

using graph::Node;
using graph::NodeResult;
using graph::NodeRun;

// Raised when equal inputs give other bytes.
constexpr int kSliceVersion = 3;
constexpr const char* kKeep = "keep";
constexpr const char* kDrop = "drop";
constexpr const char* kStage = "slice";
constexpr std::string_view kWheelStage = "wheel";
constexpr std::string_view kCondaStage = "conda";

Result<SliceRun> ReadRequest(const NodeRun& run) {
  constexpr std::string_view kWhere = "the slices of a plan";
  PTPKG_TRY(const Json slices, run.Input("slices"));
  SliceRun request{.output = run.folder(), .of_recipe = true};
  PTPKG_TRY(request.gpus, JsonStringsOr(slices, "gpus", {}, kWhere));
  PTPKG_TRY(const std::string ptx, JsonString(slices, "ptx", kWhere));
  request.keep_ptx = ptx == kKeep;
  PTPKG_TRY(request.allow, JsonStringsOr(slices, "allow", {}, kWhere));
  request.compact = slices.contains("compact") && slices["compact"] == true;
  request.variant = slices.contains("variant") && slices["variant"] == true;
  PTPKG_TRY(request.cuda, JsonStringOr(slices, "cuda", "", kWhere));
  return request;
}

/// See Artifact::unpacked_bytes, which does not include a wheel's RECORD.
Result<std::uint64_t> UnpackedBytes(Env& env, const ArtifactRecord& whole, const SliceOutcome& outcome,
                                    const SliceOfArtifact& slice) {
  if (whole.format != ArtifactFormatName(ArtifactFormat::kWheel)) {
    std::uint64_t bytes = whole.unpacked_bytes;
    if (bytes == 0) return bytes;  // not known
    for (std::size_t i = 0; i < slice.files.size(); ++i)
      bytes -= outcome.files[i].size_bytes - slice.files[i].size_bytes;
    return bytes;
  }
  PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env.fs, slice.to));
  std::uint64_t bytes = 0;
  for (const archive::ZipReader::Member& member : zip.members()) {
    if (!member.name.ends_with(".dist-info/RECORD")) bytes += member.size_bytes;
  }
  return bytes;
}

Result<Artifact> ArtifactOf(Env& env, const ArtifactRecord& whole, const SliceOutcome& outcome,
                            const SliceOfArtifact& slice) {
  PTPKG_TRY(const ArtifactFormat format, RequireFormat(slice.to));
  PTPKG_TRY(const Digests digests, HashFile(env.fs, slice.to, {.md5 = true}));
  PTPKG_TRY(const std::uint64_t unpacked_bytes, UnpackedBytes(env, whole, outcome, slice));
  return Artifact{.format = format, .path = slice.to, .digests = digests, .unpacked_bytes = unpacked_bytes};
}

/// Large slices raise the question which files did not shrink, and why.
void ReportKeptCode(Env& env, const SliceOfArtifact& slice) {
  for (const FileInSlice& file : slice.files) {
    if (!file.kept_because.empty()) {
      env.reporter.Note(
          fmt::format("'{}': '{}' is unchanged: {}", slice.to.Name(), file.path, file.kept_because));
    }
    for (const auto& [gpu, containers] : file.gaps) {
      env.reporter.Note(fmt::format("'{}': '{}' keeps all code of {}, which has none for {}", slice.to.Name(),
                                    file.path, Plural(containers, "container"), gpu));
    }
  }
}

Result<void> SliceArtifact(Env& env, const SliceRun& request, const ArtifactRecord& whole,
                           std::vector<Artifact>& made) {
  PTPKG_TRY(const SliceOutcome outcome, Slice(env, request), "while making the slices of extra.ptpkg.slices");
  for (const SliceOfArtifact& slice : outcome.slices) {
    ReportKeptCode(env, slice);
    PTPKG_TRY(Artifact artifact, ArtifactOf(env, whole, outcome, slice));
    made.push_back(std::move(artifact));
  }
  if (!outcome.fallback) return Ok();
  PTPKG_TRY(Artifact artifact, ArtifactOf(env, whole, outcome, *outcome.fallback));
  made.push_back(std::move(artifact));
  return Ok();
}

/// A longer local version counts as newer (PEP 440).
void WarnOfOneIndex(Env& env, const SliceRun& request) {
  if (request.variant) return;
  env.reporter.Warn(fmt::format(
      "slices of '{}' are in the same index as the wheel: pip and uv install one of them on any "
      "GPU unless a version is pinned; serve them from separate indexes ('ptpkg index --per-backend'), "
      "or make variant wheels (extra.ptpkg.slices.variant)",
      request.artifact.Name()));
}

Result<NodeResult> RunSlice(Env& env, const NodeRun& run) {
  PTPKG_TRY(const NodeResult whole, run.Need("artifacts"));
  PTPKG_TRY(const Packed packed, ReadPacked(whole));
  PTPKG_TRY(SliceRun request, ReadRequest(run));
  PTPKG_TRY(const std::uint64_t planned, run.Number("count"));
  std::vector<Artifact> made;
  std::string subdir;
  for (const ArtifactRecord& record : packed.artifacts) {
    const bool is_wheel = record.format == ArtifactFormatName(ArtifactFormat::kWheel);
    if (is_wheel) PTPKG_CHECK(CompareDeflater(run));
    request.artifact = FileOf(whole, record);
    PTPKG_CHECK(SliceArtifact(env, request, record, made));
    if (is_wheel) WarnOfOneIndex(env, request);
    PTPKG_TRY(const RelPath path, RelPath::Parse(record.path));
    subdir = path.ParentText().substr(path.ParentText().rfind('/') + 1);
  }
  // Without a Python distribution there is no wheel, and no slice of it.
  // Signing and publishing were planned for this number.
  if (made.size() != planned && !packed.artifacts.empty()) {
    return Error(ErrorCode::kInvalidInput, fmt::format("the plan has {} slices of '{}', but {} were made",
                                                       planned, run.subject(), made.size()))
        .WithHint("make the plan again with this version of ptpkg");
  }
  return PackedResult(run, made, subdir, {});
}

}  // namespace

bool CanSlice(const Node& pack) { return pack.stage == kCondaStage || pack.stage == kWheelStage; }

std::string AddSlicing(const graph::StageTable& stages, const recipe::GpuSlices& slices,
                       const std::string& pack, std::set<std::string> after, graph::Plan& plan) {
  const Node* const whole = plan.Find(pack);
  PTPKG_ASSERT(whole != nullptr && CanSlice(*whole) && !slices.gpus.empty());
  Node node = stages.MakeNode(kStage, whole->subject);
  node.id = fmt::format("{}-{}", kStage, pack);
  Json wanted = {{"gpus", slices.gpus},
                 {"ptx", slices.keep_ptx ? kKeep : kDrop},
                 {"compact", slices.compact},
                 {"allow", slices.allow}};
  std::size_t count = slices.gpus.size();
  if (whole->stage == kWheelStage) {
    wanted["variant"] = slices.variant;
    wanted["cuda"] = slices.cuda;
    SetDeflater(node);
    if (slices.variant) ++count;  // the null variant
  }
  node.inputs["slices"] = std::move(wanted);
  node.inputs["count"] = count * ArtifactCount(*whole);
  node.inputs["source_date_epoch"] = whole->inputs.value("source_date_epoch", Json());
  node.needs.emplace("artifacts", pack);
  node.after = std::move(after);
  if (const auto output = OutputOf(*whole)) node.places.emplace("output", *output);
  std::string id = node.id;
  plan.nodes.push_back(std::move(node));
  return id;
}

const Node& WholeOf(const graph::Plan& plan, const std::string& id) {
  const Node* node = plan.Find(id);
  PTPKG_ASSERT(node != nullptr);
  if (node->stage != kStage) return *node;
  const Node* const whole = plan.Find(node->needs.at("artifacts"));
  PTPKG_ASSERT(whole != nullptr);
  return *whole;
}

void AddSliceStage(graph::StageTable& stages) {
  stages.Add({.name = kStage,
              .version = kSliceVersion,
              .keep = graph::Keep::kStaging,
              .parallel = true,
              .run = RunSlice,
              .find = FindArtifacts});
}

}  // namespace ptpkg::pipeline
