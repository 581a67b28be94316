#pragma once
// Plans the build nodes of recipes and staging outputs. Layer: pipeline.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "builder/recipe_folder.h"
#include "graph/stage.h"
#include "pipeline/plan/build_plan.h"
#include "pipeline/plan/plan_outputs.h"
#include "pipeline/stages/provenance.h"
#include "recipe/recipe.h"

namespace ptpkg::pipeline {

/// Inputs of planning that stay the same for all recipes.
struct PlanInputs {
  const BuildRequest& request;
  const std::vector<recipe::Recipe>& recipes;  ///< In the order of their builds.
  const std::vector<recipe::Recipe>& outputs;  ///< `recipes`, and the outputs that --select leaves out.
  graph::StageTable stages;
  std::string unread = {};                      ///< Id of the build node whose sources are not read.
  std::optional<std::string> known_tools = {};  ///< Its input "tools"; nullopt: its tools are looked up.
};

/// Record of a staging output's build, which is planned once for all outputs that inherit from it.
struct PlannedStaging {
  std::set<std::string> passed = {};      ///< Ids that publications of its outputs wait for.
  std::set<std::string> heirs = {};       ///< Ids of build nodes that inherit.
  std::map<std::string, Json> zips = {};  ///< For heirs with a zip and no wheel → the ZipOutput.
};

/// By recipe file and id of the build node.
using PlannedStagings = std::map<std::pair<std::string, std::string>, PlannedStaging>;

/// A recipe, and what its build reads.
struct ResolvedBuild {
  const recipe::Recipe& recipe;
  const index::Resolution& resolution;
  const builder::RecipeFolder& folder;   ///< Result of OwnRecipeFolder.
  const std::optional<AbsPath>& source;  ///< Directory given by --source.
};

struct PlannedBuild {
  std::vector<graph::Node> nodes = {};  ///< Builds of staging outputs that had no node yet, then its own.
  std::set<std::string> passed = {};    ///< Ids that publications of its packages wait for.
  Toolchains toolchains = {};           ///< By node. A node with known tools has none.
  std::vector<std::string> tool_origins = {};  ///< Lines for people.
};

/// The build of a recipe, after the builds of the staging outputs that it inherits and `stagings` lacks.
/// Errors: as PlanBuild.
Result<PlannedBuild> PlanBuildNode(Env& env, const PlanInputs& inputs, const PlannedPackages& packages,
                                   const ResolvedBuild& build, PlannedStagings& stagings);

/// The same for a recipe without packages: a staging output, or the recipe of `ptpkg dev`.
Result<PlannedBuild> PlanBuildAlone(Env& env, const PlanInputs& inputs, const PlannedPackages& packages,
                                    const recipe::Recipe& recipe, PlannedStagings& stagings);

/// Adds, for each staging output with heirs, a node that finds files which no heir has.
void AddHeirComparisons(const graph::StageTable& stages, const PlannedStagings& stagings, graph::Plan& plan);

}  // namespace ptpkg::pipeline
