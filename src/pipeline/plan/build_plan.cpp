#include "pipeline/plan/build_plan.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>
#include <set>

#include "builder/resume/work_layout.h"
#include "builder/test/package_test.h"
#include "builder/tools/compiler_cache.h"
#include "pipeline/commands/render.h"
#include "pipeline/plan/build_nodes.h"
#include "pipeline/plan/input_output_overlap.h"
#include "pipeline/plan/order.h"
#include "pipeline/plan/output_selection.h"
#include "pipeline/plan/pack_nodes.h"
#include "pipeline/plan/plan_outputs.h"
#include "pipeline/plan/plan_sources.h"
#include "pipeline/plan/publication.h"
#include "pipeline/plan/run_plan.h"
#include "pipeline/stages/detect.h"
#include "pipeline/stages/stages.h"
#include "pipeline/stages/staging_inputs.h"
#include "publish/output/output_folder.h"

namespace ptpkg::pipeline {

namespace {

/// Names of the packages that the recipe, and what it goes on from, is built against.
std::vector<std::string> HostNames(const recipe::Recipe& recipe) {
  std::vector<std::string> names;
  for (const recipe::Recipe* part = &recipe; part != nullptr; part = part->inherited.get()) {
    for (const auto* specs : {&part->requirements.build, &part->requirements.host}) {
      for (const versions::MatchSpec& spec : *specs) names.push_back(spec.name);
    }
  }
  return names;
}

/// Two outputs of one recipe.
bool AreOutputsTogether(const recipe::Recipe& one, const recipe::Recipe& other) {
  return !one.recipe_name.empty() && one.name != other.name && one.recipe_file == other.recipe_file;
}

/// True if another recipe is built or tested with the package of `recipe`.
bool IsRequiredByOther(const PlanInputs& inputs, const recipe::Recipe& recipe) {
  return std::any_of(inputs.recipes.begin(), inputs.recipes.end(), [&](const recipe::Recipe& other) {
    const std::vector<std::string> names = HostNames(other);
    const bool for_tests = inputs.request.test && builder::HasTests(other) &&
                           AreOutputsTogether(other, recipe) && RequiresToRun(other, recipe.name);
    const bool named = std::find(names.begin(), names.end(), recipe.name) != names.end();
    return other.name != recipe.name && (named || for_tests);
  });
}

/// One that makes nothing of the formats asked for, while another output or variant of its recipe does.
bool IsLeftOut(const PlanInputs& inputs, const recipe::Recipe& recipe) {
  if (MakesRequestedFormat(inputs.request, recipe) || IsRequiredByOther(inputs, recipe)) return false;
  return std::any_of(inputs.recipes.begin(), inputs.recipes.end(), [&](const recipe::Recipe& other) {
    return recipe.recipe_file == other.recipe_file && !other.skip &&
           MakesRequestedFormat(inputs.request, other);
  });
}

/// The publication of what `built` makes of `recipe`, without packages.
PublicationRequest PublicationOf(const BuildRequest& request, const recipe::Recipe& recipe,
                                 const OutputSelection& wanted, const std::string& built) {
  return {.subject = recipe.FileStem(),
          .output = request.output,
          .staged = built,
          .allow_unresolved = recipe.ptpkg.allow_unresolved,
          .device_code = recipe.ptpkg.device_code,
          .linking = recipe.dynamic_linking,
          .slices = recipe.ptpkg.slices,
          .build_number = wanted.zip ? std::to_string(recipe.build_number) : "",
          .force = request.force};
}

/// The nodes that recipes wait for before they use the package of the node `conda`. `passed`: what a
/// publication of the package waits for.
PackageApprovals ApprovalsOf(const OutputSelection& wanted, const std::string& conda,
                             const std::vector<std::string>& tests, const std::set<std::string>& passed) {
  PackageApprovals approvals;
  if (!wanted.conda.empty() || wanted.for_others) approvals.own.insert(CheckIdOf(conda));
  approvals.own.insert(tests.begin(), tests.end());
  if (wanted.Publishes()) return approvals;
  approvals.unpublished = passed;
  approvals.unpublished.insert(approvals.own.begin(), approvals.own.end());
  return approvals;
}

/// Publishes `recipe`, the last node of `plan`, after the outputs of its recipe file that it requires:
/// installing it installs these too.
void PublishAfterRequirements(const std::vector<recipe::Recipe>& recipes, const recipe::Recipe& recipe,
                              graph::Plan& plan) {
  for (const recipe::Recipe& other : recipes) {
    if (!AreOutputsTogether(recipe, other) || !RequiresToRun(recipe, other.name)) continue;
    const std::string earlier = "publish/" + other.FileStem();
    if (plan.Find(earlier) != nullptr) plan.nodes.back().after.insert(earlier);
  }
}

/// The build node with the tools of `built`: of the staging output that it takes files from, if it has no
/// others.
const graph::Node& NodeWithTools(const graph::Plan& plan, const graph::Node& built) {
  const graph::Node* node = &built;
  for (auto staging = node->needs.find("staging");
       staging != node->needs.end() && node->inputs["env"] == "system"; staging = node->needs.find("staging"))
    node = plan.Find(staging->second);
  return *node;
}

/// A recipe whose nodes are in the plan.
struct PlannedRecipe {
  const recipe::Recipe* recipe;
  std::string built;             ///< Id of its build.
  std::string publication = {};  ///< Id; "": its packages are only used by others.
};

/// Plans recipes one by one, each after those that it is built with. The packages that the plan makes so far
/// can be used by the next recipe.
class RecipePlanner {
 public:
  RecipePlanner(Env& env, const PlanInputs& inputs, PlannedPackages packages)
      : env_(env), inputs_(inputs), packages_(std::move(packages)) {}

  /// Adds build, packages, tests, checks and publication of one variant. `signer`: nullopt: nothing is
  /// signed.
  Result<void> PlanRecipe(const recipe::Recipe& recipe, const std::optional<Signer>& signer);

  /// Adds the nodes that need those of several recipes. Returns the plan.
  BuildPlan Finish() &&;

 private:
  Result<std::string> AddBuild(const ResolvedBuild& build, std::set<std::string>& passed);
  Result<std::string> AddConda(const PackInputs& pack);
  Result<std::vector<std::string>> AddTests(const PackInputs& pack, const std::string& conda,
                                            std::set<std::string>& passed);
  Result<std::string> AddZip(const PackInputs& pack);
  std::string Add(graph::Node node);

  Env& env_;
  const PlanInputs& inputs_;
  PlannedPackages packages_;
  BuildPlan made_;
  PlannedStagings stagings_;
  Toolchains toolchains_;                    // for bills of materials
  std::map<std::string, std::string> zips_;  // name → the variant that makes it
  std::vector<PlannedRecipe> recipes_;
};

Result<void> RecipePlanner::PlanRecipe(const recipe::Recipe& recipe, const std::optional<Signer>& signer) {
  const BuildRequest& request = inputs_.request;
  const std::optional<AbsPath> source = SourceOverride(request, recipe);
  PTPKG_CHECK(CheckOutputOutsideInputs(env_, request.output, recipe, source));
  PTPKG_TRY(const OutputSelection wanted, SelectOutputs(request, recipe, IsRequiredByOther(inputs_, recipe)));
  PTPKG_TRY(index::Resolution own_resolution, ResolveRequirements(packages_.candidates(), recipe));
  PTPKG_TRY(const index::Resolution resolution,
            WithInheritedRunExports(packages_.candidates(), recipe, std::move(own_resolution)));
  PTPKG_TRY(
      const builder::RecipeFolder folder,
      builder::ReadRecipeFolder(env_, recipe, OutputPlacesBelow(env_, recipe.recipe_dir, request.output)));
  PTPKG_TRY(const builder::RecipeFolder own, OwnRecipeFolder(env_, recipe, inputs_.outputs, folder));
  std::set<std::string> passed;
  PTPKG_TRY(const std::string built, AddBuild({recipe, resolution, own, source}, passed));
  recipes_.push_back({.recipe = &recipe, .built = built});
  const PackInputs pack{recipe, wanted, resolution, folder, built};
  PublicationRequest publication = PublicationOf(request, recipe, wanted, built);
  if (!wanted.Packed().empty()) {
    publication.dependencies = DependenciesOf(packages_.candidates(), recipe, resolution);
    PTPKG_TRY(const std::string conda, AddConda(pack));
    if (wanted.for_tests) {
      PTPKG_TRY(publication.tests, AddTests(pack, conda, passed));
    }
    if (!wanted.conda.empty()) publication.packs.push_back(conda);
    // The check of a published package comes with its publication.
    if (wanted.conda.empty() && wanted.for_others)
      passed.insert(AddCheck(inputs_.stages, publication, conda, made_.plan));
    packages_.Approve(conda, ApprovalsOf(wanted, conda, publication.tests, passed));
  }
  if (wanted.wheel) {
    PTPKG_TRY(graph::Node wheel,
              MakeWheelNode(env_, inputs_, pack,
                            MaterialsOfBuild(made_.plan, built, request, recipe, toolchains_)));
    publication.packs.push_back(Add(std::move(wheel)));
  }
  if (wanted.zip) {
    PTPKG_TRY(const std::string zip, AddZip(pack));
    publication.packs.push_back(zip);
  }
  if (!wanted.Publishes()) return Ok();
  publication.passed = std::move(passed);
  if (signer) {
    PTPKG_TRY(BuildDescription making, DescribeBuild(env_, made_.plan, built, request, recipe));
    publication.signing = Signing{.signer = *signer, .making = std::move(making)};
  }
  recipes_.back().publication = AddPublication(inputs_.stages, publication, made_.plan);
  PublishAfterRequirements(inputs_.recipes, recipe, made_.plan);
  return Ok();
}

Result<std::string> RecipePlanner::AddBuild(const ResolvedBuild& build, std::set<std::string>& passed) {
  PTPKG_TRY(PlannedBuild planned, PlanBuildNode(env_, inputs_, packages_, build, stagings_));
  std::ranges::move(planned.nodes, std::back_inserter(made_.plan.nodes));
  std::ranges::move(planned.tool_origins, std::back_inserter(made_.tools));
  toolchains_.merge(planned.toolchains);
  passed.merge(planned.passed);
  return made_.plan.nodes.back().id;
}

Result<std::string> RecipePlanner::AddConda(const PackInputs& pack) {
  PTPKG_TRY(graph::Node node, MakeCondaNode(env_, inputs_, pack));
  packages_.Add(CandidateOf(pack, node.id));
  return Add(std::move(node));
}

Result<std::vector<std::string>> RecipePlanner::AddTests(const PackInputs& pack, const std::string& conda,
                                                         std::set<std::string>& passed) {
  std::vector<std::string> tests;
  for (const recipe::Recipe& part : builder::TestEnvironments(pack.recipe)) {
    const graph::Node& built = NodeWithTools(made_.plan, *made_.plan.Find(pack.built));
    const TestInputs test{part, pack.folder, built, conda, tests.size() + 1};
    PTPKG_TRY(PlannedTest planned, PlanTest(env_, inputs_, packages_, test));
    passed.merge(planned.passed);
    tests.push_back(Add(std::move(planned.node)));
  }
  return tests;
}

Result<std::string> RecipePlanner::AddZip(const PackInputs& pack) {
  const recipe::Recipe& recipe = pack.recipe;
  const std::string& name = recipe.ptpkg.zip.name;
  // Else it would be told when the second is published, after hours of compiling.
  const auto [other, added] = zips_.emplace(name, recipe.FileStem());
  if (!added) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' and '{}' would both write '{}.zip'",
                                                       other->second, recipe.FileStem(), name))
        .WithHint(
            "make extra.ptpkg.zip.name different, list the format 'zip' for one of them, or build them "
            "into different output directories (--select, --output)");
  }
  PTPKG_TRY(graph::Node node, MakeZipNode(env_, inputs_, pack));
  return Add(std::move(node));
}

std::string RecipePlanner::Add(graph::Node node) {
  std::string id = node.id;
  made_.plan.nodes.push_back(std::move(node));
  return id;
}

BuildPlan RecipePlanner::Finish() && {
  OutputsTogether together;
  std::vector<std::string> publications;
  std::map<std::string, std::vector<std::string>> of_package;
  for (const auto& [recipe, built, publication] : recipes_) {
    if (!recipe->recipe_name.empty()) together[recipe->recipe_file.str()].emplace(built, recipe);
    if (publication.empty()) continue;
    publications.push_back(publication);
    of_package[recipe->name].push_back(publication);
  }
  // These nodes need builds of several recipes, and join the plan once all of those are in it.
  AddHeirComparisons(inputs_.stages, stagings_, made_.plan);
  AddClashes(inputs_.stages, together, made_.plan);
  for (const auto& [name, of_name] : of_package) {
    if (of_name.size() > 1) JoinPublications(of_name, made_.plan);
  }
  if (!publications.empty()) AddIndex(inputs_.stages, inputs_.request.output, publications, made_.plan);
  return std::move(made_);
}

/// Plans all of `inputs.recipes`.
Result<BuildPlan> PlanRecipes(Env& env, const PlanInputs& inputs) {
  std::optional<Signer> signer;
  if (inputs.request.sign_key) {
    PTPKG_TRY(signer, ReadSigner(env, *inputs.request.sign_key));
  }
  PTPKG_TRY(PlannedPackages packages, PlannedPackages::Read(env, inputs.request.output));
  RecipePlanner planner(env, inputs, std::move(packages));
  std::vector<std::string> skipped;
  for (const recipe::Recipe& recipe : inputs.recipes) {
    if (recipe.skip) {
      skipped.push_back(recipe.FileStem());
      continue;
    }
    if (IsLeftOut(inputs, recipe)) continue;
    PTPKG_CHECK(planner.PlanRecipe(recipe, signer), fmt::format("while planning '{}'", recipe.FileStem()));
  }
  BuildPlan plan = std::move(planner).Finish();
  plan.skipped = std::move(skipped);
  return plan;
}

/// `recipes` and what --select leaves out: no key must depend on what else is built.
Result<std::vector<recipe::Recipe>> AllOutputs(Env& env, const BuildRequest& request,
                                               const std::vector<recipe::Recipe>& recipes) {
  const bool outputs = std::any_of(recipes.begin(), recipes.end(),
                                   [](const recipe::Recipe& recipe) { return !recipe.recipe_name.empty(); });
  if (request.select.empty() || !outputs) return recipes;
  return Render(env, {.recipes = request.recipes,
                      .variant_files = request.variant_files,
                      .select = {},
                      .settings = request.settings});
}

}  // namespace

Result<BuildPlan> PlanBuild(Env& env, const BuildRequest& request) {
  PTPKG_CHECK(publish::OutputFolder::RefuseRoot(request.output));
  if (request.ccache) PTPKG_CHECK(builder::FindCompilerCache(env));
  const RenderRequest wanted{.recipes = request.recipes,
                             .variant_files = request.variant_files,
                             .select = request.select,
                             .settings = request.settings};
  PTPKG_TRY(std::vector<recipe::Recipe> rendered, Render(env, wanted));
  PTPKG_CHECK(RequireUsedSettings(request.settings, rendered));
  WarnOfLikelyMistakes(env, wanted, rendered);
  PTPKG_CHECK(DetectInBuildStrings(env, request, rendered));
  std::vector<Buildable> items;
  for (const recipe::Recipe& recipe : rendered) {
    items.push_back({.name = recipe.name, .needs = HostNames(recipe)});
    for (const recipe::Recipe& other : rendered) {
      if (AreOutputsTogether(recipe, other) && RequiresToRun(recipe, other.name))
        AppendNew({other.name}, items.back().wants);
    }
  }
  // Requirements first: the plan's packages become candidates for the recipes behind them.
  PTPKG_TRY(const std::vector<std::size_t> order, OrderByRequirements(items));
  std::vector<recipe::Recipe> recipes;
  for (const std::size_t index : order) recipes.push_back(rendered[index]);
  PTPKG_CHECK(CheckSources(request, recipes));
  PTPKG_CHECK(ResolveSources(env, request, recipes));
  PTPKG_TRY(const std::vector<recipe::Recipe> outputs, AllOutputs(env, request, recipes));
  const PlanInputs inputs{.request = request, .recipes = recipes, .outputs = outputs, .stages = MakeStages()};
  PTPKG_TRY(BuildPlan result, PlanRecipes(env, inputs));
  if (request.refresh) {
    for (graph::Node& node : result.plan.nodes) node.options.emplace(graph::kRefreshOption, "");
  }
  PTPKG_CHECK(graph::CheckPlan(result.plan));
  return result;
}

Result<NativePlan> PlanNative(Env& env, const BuildRequest& request, const recipe::Recipe& recipe,
                              const std::vector<recipe::Recipe>& rendered,
                              const std::optional<std::string>& known_tools) {
  std::vector<recipe::Recipe> own = {recipe};
  PTPKG_CHECK(CheckSources(request, own));
  PTPKG_CHECK(ResolveSources(env, request, own));
  PTPKG_TRY(const std::vector<recipe::Recipe> outputs, AllOutputs(env, request, rendered));
  const PlanInputs inputs{.request = request,
                          .recipes = rendered,
                          .outputs = outputs,
                          .stages = MakeStages(),
                          .unread = "build/" + own.front().FileStem(),
                          .known_tools = known_tools};
  const std::string context = fmt::format("while planning '{}'", recipe.FileStem());
  PTPKG_TRY(const PlannedPackages packages, PlannedPackages::Read(env, request.output), context);
  PlannedStagings stagings;
  PTPKG_TRY(PlannedBuild planned, PlanBuildAlone(env, inputs, packages, own.front(), stagings), context);
  graph::Plan plan{.nodes = std::move(planned.nodes)};
  PTPKG_CHECK(graph::CheckPlan(plan));
  return NativePlan{.recipe = std::move(own.front()), .plan = std::move(plan)};
}

Result<BuildSummary> Build(Env& env, const BuildRequest& request) {
  PTPKG_CHECK(builder::CheckWorkFolder(ResolveExistingPart(env, env.cache_dir)));
  PTPKG_TRY(const BuildPlan planned, PlanBuild(env, request));
  if (!request.test) env.reporter.Warn("tests are skipped: these packages are untested");
  BuildSummary summary;
  if (!planned.plan.nodes.empty()) {
    const RunOptions options{.dry_run = request.dry_run, .remote_cache = request.remote_cache};
    PTPKG_TRY(summary, RunPlan(env, planned.plan, request.output, options));
  }
  summary.skipped = planned.skipped;
  summary.tools = planned.tools;
  return summary;
}

}  // namespace ptpkg::pipeline
