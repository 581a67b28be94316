#include "pipeline/repack.h"

#include <fmt/core.h>

#include "convert/wheel_target.h"
#include "pipeline/package_inputs.h"
#include "pipeline/publication.h"
#include "pipeline/run_plan.h"
#include "pipeline/stages.h"

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

}  // namespace

Result<graph::Plan> PlanRepack(Env& env, const RepackRequest& request) {
  const bool is_wheel = request.input.Name().ends_with(".whl");
  std::string python;
  if (is_wheel) {
    PTPKG_TRY(python, convert::PythonOption(request.python));  // before a gigabyte is read
  }
  const graph::StageTable stages = MakeStages();
  graph::Node node =
      stages.MakeNode(is_wheel ? "repack-conda" : "repack-wheel", std::string(request.input.Name()));
  {
    Task task(env.reporter, {.stage = "read", .subject = node.subject});
    PTPKG_CHECK(SetArtifact(env, node, request.input));
    task.Done();
  }
  node.inputs["layout"] = request.layout;
  node.inputs["source_date_epoch"] = env.source_date_epoch;
  if (is_wheel) {
    PTPKG_TRY(node.inputs["formats"],
              FormatNames(request, {ArtifactFormat::kConda, ArtifactFormat::kTarBz2}));
    node.inputs["build string"] = request.build_string;
    node.inputs["build number"] = request.build_number;
    node.inputs["python"] = python;
  } else {
    PTPKG_TRY([[maybe_unused]] const Json names, FormatNames(request, {ArtifactFormat::kWheel}));
    node.inputs["distribution"] = request.distribution;
  }
  node.places.emplace("output", request.output);
  if (request.keep_work) node.options.emplace("keep-work", "");

  std::optional<Signing> signing;
  if (request.sign_key) {
    PTPKG_TRY(Signer signer, ReadSigner(env, *request.sign_key));
    signing = Signing{.signer = std::move(signer), .making = MakingOfRepack(node)};
  }
  graph::Plan plan;
  const std::string packed = node.id;
  const std::string subject = node.subject;
  plan.nodes.push_back(std::move(node));
  const std::string published = AddPublication(stages,
                                               {.subject = subject,
                                                .output = request.output,
                                                .packs = {packed},
                                                .force = request.force,
                                                .signing = signing},
                                               plan);
  AddIndex(stages, request.output, {published}, plan);
  return plan;
}

Result<BuildSummary> Repack(Env& env, const RepackRequest& request) {
  PTPKG_TRY(const graph::Plan plan, PlanRepack(env, request));
  return RunPlan(env, plan, request.output, {.dry_run = request.dry_run});
}

}  // namespace ptpkg::pipeline
