// detected() in a build string needs versions of tools, but tools are chosen for a rendered recipe. So such
// recipes are rendered twice: first with a placeholder, to learn the requirements, then with the versions
// found. The second rendering must find the same variant and name, or the build string would decide what is
// built.
//
// Names can be compared only now. Two variants that differ in nothing visible would replace each other's
// files.

#include "pipeline/stages/detect.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <set>

#include "builder/tools/tool_versions.h"
#include "index/conda_channel/local_resolver.h"
#include "pipeline/commands/render.h"
#include "pipeline/plan/input_output_overlap.h"
#include "publish/output/output_folder.h"

namespace ptpkg::pipeline {

Result<std::set<std::string>> AvailablePackages(Env& env, const BuildRequest& request,
                                                const std::vector<recipe::Recipe>& recipes) {
  std::set<std::string> names;
  PTPKG_TRY(const std::vector<index::Candidate> candidates,
            index::ReadChannel(env, publish::OutputFolder::CondaRootOf(request.output), kBuildPlatform));
  for (const index::Candidate& candidate : candidates) names.insert(candidate.name);
  for (const recipe::Recipe& recipe : recipes) names.insert(recipe.name);
  return names;
}

namespace {

using Versions = std::map<std::string, std::string>;

/// Versions of the recipe's tools, then of the tools of its staging outputs. Headers of the
/// machine count for a part that uses no toolkit as well, so parts that have one come first.
Result<Versions> VersionsOf(Env& env, const BuildRequest& request, const std::set<std::string>& provided,
                            const recipe::Recipe& recipe) {
  Versions with_toolkit;
  Versions others;
  for (const recipe::Recipe* part = &recipe; part != nullptr; part = part->inherited.get()) {
    PTPKG_TRY(
        const builder::HostPlan host,
        builder::CheckTools(env, *part,
                            {.host_env = request.host_env, .options = request.tools, .provided = provided}));
    PTPKG_TRY(const Versions found, builder::DetectVersions(env, host));
    Versions& versions = found.contains("cuda_toolkit") ? with_toolkit : others;
    versions.insert(found.begin(), found.end());
  }
  with_toolkit.insert(others.begin(), others.end());
  return with_toolkit;
}

Result<void> DetectFor(Env& env, const BuildRequest& request, const std::set<std::string>& provided,
                       recipe::Recipe& recipe) {
  PTPKG_TRY(const Versions versions, VersionsOf(env, request, provided, recipe));
  PTPKG_TRY(std::vector<recipe::Recipe> again, Render(env, {.recipes = {recipe.recipe_file},
                                                            .variant_files = request.variant_files,
                                                            .select = {},
                                                            .detected = versions,
                                                            .settings = request.settings}));
  auto same = std::find_if(again.begin(), again.end(), [&](const recipe::Recipe& one) {
    return one.variant == recipe.variant && one.name == recipe.name;
  });
  if (same == again.end()) {
    return Error(ErrorCode::kInvalidInput, "the detected tool versions change the variant")
        .WithHint("use detected() only inside the build string");
  }
  recipe = std::move(*same);
  return Ok();
}

}  // namespace

Result<void> DetectInBuildStrings(Env& env, const BuildRequest& request,
                                  std::vector<recipe::Recipe>& recipes) {
  const auto waits = [](const recipe::Recipe& recipe) { return !recipe.skip && !recipe.detects.empty(); };
  if (std::none_of(recipes.begin(), recipes.end(), waits)) return Ok();
  PTPKG_TRY(const std::set<std::string> provided, AvailablePackages(env, request, recipes));
  std::map<std::string, std::string> names;
  for (recipe::Recipe& recipe : recipes) {
    if (waits(recipe)) {
      PTPKG_CHECK(DetectFor(env, request, provided, recipe),
                  fmt::format("while detecting versions for '{}'", recipe.FileStem()));
    }
    if (recipe.skip || names.emplace(recipe.subdir + "/" + recipe.FileStem(), recipe.name).second) continue;
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("two variants would both be named '{}'", recipe.FileStem()))
        .WithHint("put ${{ hash }} into 'build.string'");
  }
  return Ok();
}

}  // namespace ptpkg::pipeline
