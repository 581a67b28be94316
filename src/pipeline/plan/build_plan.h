#pragma once
// Plans `ptpkg build`, from recipe to publication. Layer: pipeline. PlanRecipe in build_plan.cpp
// adds the nodes of one recipe.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "builder/run_build.h"
#include "graph/plan.h"
#include "model/artifact.h"
#include "pipeline/edit_wheel/wheel_form.h"
#include "pipeline/plan/summary.h"
#include "pipeline/remote_cache/remote_cache.h"
#include "recipe/recipe.h"
#include "support/env.h"
#include "variant/config.h"

namespace ptpkg::pipeline {

struct BuildRequest {
  std::vector<AbsPath> recipes = {};        ///< recipe.yaml files, or directories that hold one.
  std::vector<AbsPath> variant_files = {};  ///< Empty: variants.yaml beside each recipe.
  std::map<std::string, std::vector<std::string>> select = {};
  variant::KeySettings settings = {};     ///< Values of --from-env; see RenderRequest.
  std::set<ArtifactFormat> formats = {};  ///< Empty: what each recipe names.
  WheelForm wheel_form = {};              ///< Form of the wheels.
  AbsPath output = AbsPath::Literal("/nonexistent");
  std::map<std::string, AbsPath> sources = {};  ///< "--source NAME=PATH".
  /// "--source NAME=REPOSITORY@REF": takes the place of the first source, whose patches still apply.
  std::map<std::string, recipe::GitSource> git_sources = {};
  std::vector<RelPath> not_sources = {};  ///< Below a directory of `sources`: what it leaves out.
  builder::HostEnv host_env = builder::HostEnv::kAuto;
  builder::ToolOptions tools = {};  ///< The interpreter and the conda client to take.
  bool force = false;               ///< Replace artifacts that ptpkg did not make.
  bool keep_work = false;  ///< Leave the work directory of each node that has one, and say where it is.
  bool ccache = false;     ///< ccache before the C and C++ compilers.
  bool fresh = false;      ///< Builds start anew, even if an interrupted run left files.
  bool refresh = false;    ///< Builds and all later stages run, even if their results are stored.
  bool preflight = true;   ///< A build that is known to fail is refused before its sources are fetched.
  bool dry_run = false;    ///< Report which stages would run; write nothing.
  std::optional<AbsPath> sign_key = {};  ///< Private key that all artifacts are signed with.
  bool test = true;                      ///< Run the recipes' tests; false prints a warning.
  RemoteCacheOptions remote_cache = {};  ///< Bucket with the results of other machines.
};

/// "--source NAME=VALUE": into `request.sources` or `.git_sources`. Errors: any from source::ParseOverride,
/// kUsage for a name that was already given.
Result<void> AddSource(Env& env, const std::string& name, const std::string& value, BuildRequest& request);

/// A "--source" that matches no recipe is probably a typing error, and the build would use another source.
/// Errors: kUsage.
Result<void> CheckSources(const BuildRequest& request, const std::vector<recipe::Recipe>& recipes);

struct BuildPlan {
  graph::Plan plan;
  std::vector<std::string> skipped;  ///< Variants whose recipe says `skip`.
  std::vector<std::string> tools;    ///< For each build: where each of its tools comes from.
};

/// The plan for every variant of every recipe, with recipes that others need first. Checks all that can be
/// known before a build: sources, tools, packages of the output channel. Servers of git sources resolve tags
/// and branches. Writes nothing. Errors: any from the recipe, variant and source layers, builder::CheckTools
/// and index::Resolve. Also kUsage for a --source that matches no recipe, a format that a recipe does not
/// offer, and an output or cache directory inside a source.
Result<BuildPlan> PlanBuild(Env& env, const BuildRequest& request);

struct NativePlan {
  recipe::Recipe recipe;  ///< With the commits of its git sources.
  graph::Plan plan;       ///< Its build node, after the nodes of the staging outputs that it inherits.
};

/// The build of `recipe` alone, which is one of `rendered` or a recipe that one of these inherits. Its own
/// local sources are not read: the input "source" of its node, the last of the plan, is empty. `known_tools`:
/// the node's input "tools" from an earlier plan, if the machine's tools are unchanged; the tools are then
/// not examined. Errors: as PlanBuild.
Result<NativePlan> PlanNative(Env& env, const BuildRequest& request, const recipe::Recipe& recipe,
                              const std::vector<recipe::Recipe>& rendered,
                              const std::optional<std::string>& known_tools = std::nullopt);

/// Plans and runs. All artifacts of a variant appear in the output directory together, after all of them
/// passed their checks and tests. If every variant is skipped, nothing is written, and the build succeeds.
/// Errors: any from PlanBuild and RunPlan.
Result<BuildSummary> Build(Env& env, const BuildRequest& request);

}  // namespace ptpkg::pipeline
