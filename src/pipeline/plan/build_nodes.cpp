// A staging output is planned once per plan, by the first output that inherits from it. Later heirs get its
// node as a need and wait for the same packages.

#include "pipeline/plan/build_nodes.h"

#include <algorithm>
#include <fmt/core.h>

#include "builder/resume/work_layout.h"
#include "builder/script/script.h"
#include "builder/tools/tool_key.h"
#include "pipeline/plan/input_output_overlap.h"
#include "pipeline/plan/plan_sources.h"
#include "pipeline/stages/build_inputs.h"
#include "pipeline/stages/package_inputs.h"
#include "pipeline/stages/staging_inputs.h"
#include "publish/output/output_folder.h"
#include "recipe/recipe_codec.h"
#include "source/prepare.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

std::pair<std::string, std::string> StagingKey(const recipe::Recipe& staging) {
  return {staging.recipe_file.str(), "build/" + staging.FileStem()};
}

/// The build of a staging output, if `stagings` lacks it; otherwise only what its heirs wait for.
Result<PlannedBuild> PlanStaging(Env& env, const PlanInputs& inputs, const PlannedPackages& packages,
                                 const recipe::Recipe& staging, PlannedStagings& stagings) {
  const auto [at, added] = stagings.try_emplace(StagingKey(staging));
  if (!added) return PlannedBuild{.passed = at->second.passed};
  PTPKG_CHECK(builder::RequireTar(env));
  PTPKG_TRY(PlannedBuild planned, PlanBuildAlone(env, inputs, packages, staging, stagings));
  at->second.passed = planned.passed;
  return planned;
}

/// `built`, the build of `recipe`, has the files of `staging`.
void NoteHeir(const recipe::Recipe& recipe, const std::string& built, PlannedStaging& staging) {
  staging.heirs.insert(built);
  const auto& formats = recipe.ptpkg.formats;
  const auto makes = [&](const char* format) {
    return std::find(formats.begin(), formats.end(), format) != formats.end();
  };
  if (!makes("zip") || makes("wheel")) return;
  staging.zips.emplace(built, recipe::EncodeOutput(recipe::ZipOutputOf(recipe)));
}

/// Sets what the build reads of the recipe and its sources. The sources of the unread node are not read.
Result<void> SetBuildInputs(Env& env, const PlanInputs& inputs, const ResolvedBuild& build,
                            graph::Node& node) {
  const recipe::Recipe& recipe = build.recipe;
  PTPKG_TRY(const std::vector<std::string> texts, builder::VariableSearchTexts(env, recipe, build.folder));
  node.inputs["recipe"] = recipe::EncodeNativeBuild(recipe::NativeBuildOf(recipe, texts));
  PTPKG_TRY(const std::optional<std::string> script,
            builder::BuildScriptText(env.fs, recipe.script, recipe.recipe_dir));
  node.inputs["script"] = script.value_or("");
  SourceExclusions left_out = FindSourceExclusions(env, inputs.request, recipe, build.source, texts);
  SetSourceExclusions(node, left_out.paths);
  if (!left_out.names.empty()) node.inputs[kNotSources] = std::move(left_out.names);
  source::SourceOptions sources{.left_out = std::move(left_out.paths)};
  if (build.source) {
    sources.overrides.emplace(recipe.name, *build.source);
    node.places.emplace("source", *build.source);
  }
  SetSources(node, inputs.request, recipe);
  // The node of `ptpkg dev` is never stored, and digesting gigabytes of sources would take longer than its
  // run.
  node.inputs["source"] = "";
  if (node.id != inputs.unread) {
    PTPKG_TRY(const Sha256 source_key, source::SourceKey(env, recipe, sources));
    node.inputs["source"] = source_key.Hex();
  }
  SetRecipeFolder(node, build.folder);
  node.places.insert_or_assign("recipe", recipe.recipe_dir);
  node.inputs["source_date_epoch"] = env.source_date_epoch;
  return Ok();
}

/// Adds what the build asks of a machine, for `ptpkg matrix`.
void SetResources(const recipe::JobResources& resources, graph::Node& node) {
  for (const auto& [name, value] :
       {std::pair("cores", resources.cores), std::pair("memory", resources.memory_bytes),
        std::pair("disk", resources.disk_bytes), std::pair("gpus", resources.gpus),
        std::pair("minutes", resources.minutes)}) {
    if (value > 0) node.options.emplace(name, std::to_string(value));
  }
}

void SetBuildOptions(const BuildRequest& request, const recipe::Recipe& recipe, graph::Node& node) {
  node.places.emplace("log", publish::OutputFolder::LogFileOf(request.output, recipe.FileStem(), "build"));
  if (request.keep_work) node.options.emplace("keep-work", "");
  if (recipe.ptpkg.memory_per_job > 0)
    node.options.emplace("memory-per-job", std::to_string(recipe.ptpkg.memory_per_job));
  SetResources(recipe.ptpkg.resources, node);
  if (!recipe.ptpkg.device_code.empty())
    node.options.emplace("device-code", Join(recipe.ptpkg.device_code, "\n"));
  if (!request.preflight) node.options.emplace("no-preflight", "");
  if (request.ccache) node.options.emplace("ccache", "");
  if (request.fresh || request.refresh) node.options.emplace("fresh", "");
  if (!recipe.ptpkg.resume) node.options.insert_or_assign("fresh", "always");
}

/// The host environment and the tools of a build.
Result<builder::HostPlan> FindHost(Env& env, const BuildRequest& request, const ResolvedBuild& build) {
  std::set<std::string> provided;
  for (const index::Candidate& package : build.resolution.packages) provided.insert(package.name);
  return builder::CheckTools(env, build.recipe,
                             {.host_env = request.host_env, .options = request.tools, .provided = provided});
}

}  // namespace

Result<PlannedBuild> PlanBuildNode(Env& env, const PlanInputs& inputs, const PlannedPackages& packages,
                                   const ResolvedBuild& build, PlannedStagings& stagings) {
  const recipe::Recipe& recipe = build.recipe;
  PlannedBuild planned;
  graph::Node node = inputs.stages.MakeNode("build", recipe.FileStem());
  if (recipe.inherited != nullptr) {
    PTPKG_TRY(planned, PlanStaging(env, inputs, packages, *recipe.inherited, stagings));
    const auto key = StagingKey(*recipe.inherited);
    if (!recipe.staging) NoteHeir(recipe, node.id, stagings[key]);
    node.needs.emplace("staging", key.second);
  }
  PTPKG_CHECK(SetBuildInputs(env, inputs, build, node));
  planned.passed.merge(packages.Require(node, build.resolution.packages));
  // The tools of the last run, whose files have not changed: looking for them again would run each compiler.
  if (inputs.known_tools && node.id == inputs.unread) {
    SetCachedHost(node, *inputs.known_tools, inputs.request.tools);
  } else {
    PTPKG_TRY(const builder::HostPlan host, FindHost(env, inputs.request, build));
    PTPKG_CHECK(SetHost(env, node, host, inputs.request.tools));
    PTPKG_TRY(planned.toolchains[node.id], builder::ToolVersions(env, host));
    if (inputs.unread.empty()) {
      PTPKG_TRY(const std::string origins, builder::ToolOrigins(env, host));
      if (!origins.empty())
        planned.tool_origins.push_back(fmt::format("tools of {}: {}", recipe.FileStem(), origins));
    }
  }
  SetBuildOptions(inputs.request, recipe, node);
  planned.nodes.push_back(std::move(node));
  return planned;
}

Result<PlannedBuild> PlanBuildAlone(Env& env, const PlanInputs& inputs, const PlannedPackages& packages,
                                    const recipe::Recipe& recipe, PlannedStagings& stagings) {
  const AbsPath& output = inputs.request.output;
  const std::optional<AbsPath> source = SourceOverride(inputs.request, recipe);
  PTPKG_CHECK(CheckOutputOutsideInputs(env, output, recipe, source));
  PTPKG_TRY(const index::Resolution resolution, ResolveRequirements(packages.candidates(), recipe),
            fmt::format("while resolving the requirements of {} '{}'",
                        recipe.staging ? "the staging output" : "the build of", recipe.name));
  PTPKG_TRY(const builder::RecipeFolder whole,
            builder::ReadRecipeFolder(env, recipe, OutputPlacesBelow(env, recipe.recipe_dir, output)));
  PTPKG_TRY(const builder::RecipeFolder folder, OwnRecipeFolder(env, recipe, inputs.outputs, whole));
  return PlanBuildNode(env, inputs, packages, {recipe, resolution, folder, source}, stagings);
}

void AddHeirComparisons(const graph::StageTable& stages, const PlannedStagings& stagings, graph::Plan& plan) {
  for (const auto& [key, staging] : stagings) {
    if (staging.heirs.empty()) continue;
    graph::Node node = stages.MakeNode("outputs", plan.Find(key.second)->subject);
    node.needs.emplace("staging", key.second);
    for (const std::string& built : staging.heirs) node.needs.emplace(built, built);
    node.inputs["zips"] = staging.zips;
    InsertAfterNeeds(std::move(node), plan);
  }
}

}  // namespace ptpkg::pipeline
