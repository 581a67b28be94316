// A repacked artifact is a plan of one packing node and its publication, so keys, checks, resuming and
// signing work as in a build. Several Pythons give several nodes, which share one publication and so appear
// together.
//
// Options are checked before the input is read: it may have gigabytes. The platform of a wheel "-none-any"
// fits all Pythons, so several Pythons would make equal packages, and a given build string can't name
// several.

#include "pipeline/plan/repack_plan.h"

#include <fmt/core.h>

#include "convert/tree/tree_to_wheel.h"
#include "convert/wheel_target.h"
#include "pipeline/plan/publication.h"
#include "pipeline/plan/run_plan.h"
#include "pipeline/stages/package_inputs.h"
#include "pipeline/stages/stages.h"
#include "publish/output/output_folder.h"

namespace ptpkg::pipeline {

namespace {

Result<Json> FormatNames(const RepackRequest& request, const std::vector<ArtifactFormat>& family) {
  Json names = Json::array();
  for (const ArtifactFormat format : family) {
    if (request.formats.empty() || request.formats.contains(format))
      names.push_back(ArtifactFormatName(format));
  }
  for (const ArtifactFormat format : request.formats) {
    if (std::find(family.begin(), family.end(), format) != family.end()) continue;
    return Error(ErrorCode::kUsage, fmt::format("'{}' cannot be repacked as {}", request.input.Name(),
                                                ArtifactFormatName(format)))
        .WithHint(
            "a wheel becomes conda or tar.bz2, a conda package becomes a wheel; only a recipe becomes a zip");
  }
  return names;
}

/// Each as "3.11", without repetitions; "" alone: all that the wheel fits.
Result<std::vector<std::string>> PythonsOf(const RepackRequest& request) {
  std::vector<std::string> pythons;
  for (const std::string& text : request.pythons) {
    PTPKG_TRY(std::string python, convert::PythonOption(text));
    if (std::find(pythons.begin(), pythons.end(), python) == pythons.end())
      pythons.push_back(std::move(python));
  }
  if (pythons.size() > 1 && request.input.Name().ends_with("-none-any.whl")) {
    return Error(ErrorCode::kUsage,
                 fmt::format("'{}' becomes one package for all Pythons, but --python gives {} of them",
                             request.input.Name(), pythons.size()))
        .WithHint("remove --python");
  }
  if (pythons.size() > 1 && !request.build_string.empty()) {
    return Error(ErrorCode::kUsage, "packages for several Pythons cannot share one build string")
        .WithHint("remove --build-string, or build them one at a time");
  }
  if (pythons.empty()) pythons.emplace_back();
  return pythons;
}

/// One node like `model` for each of `pythons`; their ids go to `packs`.
void AddForPythons(const std::vector<std::string>& pythons, const graph::Node& model, graph::Plan& plan,
                   std::vector<std::string>& packs) {
  for (const std::string& python : pythons) {
    graph::Node node = model;
    node.inputs["python"] = python;
    // The publication tells artifacts apart by the part before the slash.
    if (pythons.size() > 1) node.id.insert(node.id.find('/'), "-py" + python);
    packs.push_back(node.id);
    plan.nodes.push_back(std::move(node));
  }
}

}  // namespace

Result<bool> IsWheelTree(Env& env, const AbsPath& path) {
  PTPKG_TRY(const bool exists, Exists(env.fs, path));
  if (!exists) return false;  // the reader reports it
  PTPKG_TRY(const FileStat stat, env.fs.Stat(path));
  if (stat.kind != FileKind::kDirectory) return false;
  PTPKG_TRY(const bool is_recipe, Exists(env.fs, path / "recipe.yaml"));
  if (is_recipe) return false;
  return convert::ContainsDistribution(env, path);
}

Result<graph::Plan> PlanRepack(Env& env, const RepackRequest& request) {
  PTPKG_CHECK(publish::OutputFolder::RefuseRoot(request.output));
  PTPKG_TRY(const std::vector<std::string> pythons, PythonsOf(request));  // before a gigabyte is read
  PTPKG_TRY(const FileStat stat, env.fs.Stat(request.input));
  const bool is_tree = stat.kind == FileKind::kDirectory;
  const bool is_wheel = !is_tree && request.input.Name().ends_with(".whl");
  const graph::StageTable stages = MakeStages();
  const std::string stage = is_tree ? "repack-tree" : is_wheel ? "repack-conda" : "repack-wheel";
  graph::Node node = stages.MakeNode(stage, std::string(request.input.Name()));
  {
    Task task(env.reporter, {.stage = "read", .subject = node.subject});
    PTPKG_CHECK(is_tree ? SetTree(env, node, request.input) : SetArtifact(env, node, request.input));
    task.Done();
  }
  node.inputs["layout"] = request.layout;
  node.inputs["source_date_epoch"] = env.source_date_epoch;
  if (is_wheel) {
    PTPKG_TRY(node.inputs["formats"],
              FormatNames(request, {ArtifactFormat::kConda, ArtifactFormat::kTarBz2}));
    node.inputs["build string"] = request.build_string;
    node.inputs["build number"] = request.build_number;
  } else {
    PTPKG_TRY([[maybe_unused]] const Json names, FormatNames(request, {ArtifactFormat::kWheel}));
    node.inputs["distribution"] = request.distribution;
    SetWheelForm(request.wheel_form, node);
  }
  node.places.emplace("output", request.output);
  if (request.keep_work) node.options.emplace("keep-work", "");

  graph::Plan plan;
  PublicationRequest publication{
      .subject = node.subject, .output = request.output, .force = request.force, .signing = {}};
  if (is_wheel) {
    AddForPythons(pythons, node, plan, publication.packs);
  } else {
    publication.packs.push_back(node.id);
    plan.nodes.push_back(node);
  }
  if (request.sign_key) {
    PTPKG_TRY(Signer signer, ReadSigner(env, *request.sign_key));
    publication.signing = Signing{.signer = std::move(signer), .making = DescribeRepack(plan.nodes.front())};
  }
  const std::string published = AddPublication(stages, publication, plan);
  AddIndex(stages, request.output, {published}, plan);
  return plan;
}

std::vector<std::string> CompressionNames() { return archive::CompressionNames(); }

Result<BuildSummary> Repack(Env& env, const RepackRequest& request) {
  PTPKG_TRY(const graph::Plan plan, PlanRepack(env, request));
  return RunPlan(env, plan, request.output, {.dry_run = request.dry_run});
}

}  // namespace ptpkg::pipeline
