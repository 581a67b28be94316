// Decodes the build nodes of a plan for the pre-build checks. It reads only what the nodes hold, so a printed
// plan that runs on another machine is checked against that machine.

#include "pipeline/plan/build_analysis.h"

#include "builder/preflight/preflight.h"
#include "pipeline/plan/input_output_overlap.h"
#include "pipeline/plan/plan_sources.h"
#include "pipeline/stages/package_inputs.h"
#include "recipe/recipe_codec.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

/// A build, as far as its node tells before it starts.
struct Foreseen {
  recipe::Recipe recipe;
  builder::HostPlan host;
};

Result<Foreseen> ReadForeseen(Env& env, const graph::NodeRun& run) {
  PTPKG_TRY(const Json encoded, run.Input("recipe"));
  PTPKG_TRY(recipe::NativeBuild native, recipe::DecodeNativeBuild(encoded, run.subject()));
  PTPKG_TRY(native.recipe.recipe_dir, run.Place("recipe"));
  PTPKG_TRY(native.recipe.sources, ReadSources(run));
  if (run.Has("device-code")) native.recipe.ptpkg.device_code = Split(run.Option("device-code"), '\n');
  PTPKG_TRY(const builder::HostRequest request, ReadHostRequest(run));
  PTPKG_TRY(builder::HostPlan host, builder::CheckTools(env, native.recipe, request));
  return Foreseen{.recipe = std::move(native.recipe), .host = std::move(host)};
}

}  // namespace

Result<void> PreflightBuilds(Env& env, const std::vector<graph::NodeRun>& runs) {
  std::vector<Foreseen> builds;
  builds.reserve(runs.size());  // the inputs below refer to them
  std::vector<builder::RecipeFactsInput> inputs;
  for (const graph::NodeRun& run : runs) {
    PTPKG_CHECK(env.cancel.Check());
    if (run.Has("no-preflight")) continue;
    PTPKG_TRY(builds.emplace_back(), ReadForeseen(env, run));
    const Foreseen& build = builds.back();
    PTPKG_TRY(const std::string script, run.Text("script"));
    const Result<AbsPath> given = run.Place("source");
    inputs.push_back({.recipe = build.recipe,
                      .host = build.host,
                      .subject = run.subject(),
                      .script = script,
                      .memory_per_job = ParseBytes(run.Option("memory-per-job")).value_or(0),
                      .source = LocalSource(build.recipe, given ? std::optional(*given) : std::nullopt)});
  }
  return builder::CheckPreflight(env, inputs);
}

}  // namespace ptpkg::pipeline
