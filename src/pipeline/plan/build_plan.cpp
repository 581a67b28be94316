#include "pipeline/plan/build_plan.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "builder/resume/work_layout.h"
#include "builder/script/script.h"
#include "builder/tools/tool_key.h"
#include "convert/package_metadata.h"
#include "pipeline/commands/render.h"
#include "pipeline/plan/input_output_overlap.h"
#include "pipeline/plan/order.h"
#include "pipeline/plan/output_selection.h"
#include "pipeline/plan/plan_outputs.h"
#include "pipeline/plan/plan_sources.h"
#include "pipeline/plan/publication.h"
#include "pipeline/plan/run_plan.h"
#include "pipeline/stages/build_inputs.h"
#include "pipeline/stages/detect.h"
#include "pipeline/stages/package_inputs.h"
#include "pipeline/stages/stages.h"
#include "pipeline/stages/staging_inputs.h"
#include "pipeline/stages/wheel_repair.h"
#include "publish/output/output_folder.h"
#include "recipe/recipe_codec.h"
#include "source/prepare.h"
#include "support/text/text.h"

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

/// Adds `more` without repetitions.
void AppendNew(const std::vector<std::string>& more, std::vector<std::string>& list) {
  for (const std::string& text : more) {
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
  }
}

/// Writes the nodes of one plan, recipe by recipe.
class BuildPlanner {
 public:
  /// `outputs`: `recipes`, and those of their recipe files that --select leaves out.
  BuildPlanner(Env& env, const BuildRequest& request, const std::vector<recipe::Recipe>& recipes,
               const std::vector<recipe::Recipe>& outputs)
      : env_(env),
        request_(request),
        recipes_(recipes),
        outputs_(outputs),
        stages_(MakeStages()),
        channel_(publish::OutputFolder::CondaRootOf(request.output)) {}

  Result<BuildPlan> Run() {
    if (request_.sign_key) {
      PTPKG_TRY(signer_, ReadSigner(env_, *request_.sign_key));
    }
    PTPKG_TRY(candidates_, index::ReadChannel(env_, channel_, kBuildPlatform));
    BuildPlan result;
    for (const recipe::Recipe& recipe : recipes_) {
      if (recipe.skip) {
        result.skipped.push_back(recipe.FileStem());
        continue;
      }
      if (IsLeftOut(recipe)) continue;
      PTPKG_CHECK(PlanRecipe(recipe), fmt::format("while planning '{}'", recipe.FileStem()));
    }
    AddOutputs();
    AddClashes(stages_, together_, plan_);
    for (const auto& [name, publications] : of_package_) {
      if (publications.size() > 1) JoinPublications(publications, plan_);
    }
    if (!publications_.empty()) AddIndex(stages_, request_.output, publications_, plan_);
    result.plan = std::move(plan_);
    result.tools = std::move(tools_);
    return result;
  }

  /// The build of `recipe` and of what it inherits; its sources are not read.
  Result<graph::Plan> RunNative(const recipe::Recipe& recipe, const std::optional<std::string>& known_tools) {
    PTPKG_TRY(candidates_, index::ReadChannel(env_, channel_, kBuildPlatform));
    unread_ = "build/" + recipe.FileStem();
    known_tools_ = known_tools;
    std::set<std::string> passed;
    PTPKG_CHECK(AddNative(recipe, passed));
    return std::move(plan_);
  }

 private:
  /// Build, packages, tests, checks and publication of one variant.
  Result<void> PlanRecipe(const recipe::Recipe& recipe) {
    const std::optional<AbsPath> source = SourceOverride(recipe);
    PTPKG_CHECK(CheckOutputOutsideInputs(env_, request_.output, recipe, source));
    PTPKG_TRY(const OutputSelection wanted, SelectOutputs(request_, recipe, IsRequiredByOther(recipe)));
    PTPKG_TRY(index::Resolution resolution, index::Resolve(candidates_, HostRequestOf(recipe)));
    PTPKG_CHECK(InheritRunExports(recipe, resolution));
    PTPKG_TRY(
        const builder::RecipeFolder folder,
        builder::ReadRecipeFolder(env_, recipe, OutputPlacesBelow(env_, recipe.recipe_dir, request_.output)));
    PTPKG_TRY(const builder::RecipeFolder own, OwnRecipeFolder(env_, recipe, outputs_, folder));
    std::set<std::string> passed;
    PTPKG_TRY(const std::string built, AddBuild(recipe, resolution, own, source, passed));
    if (!recipe.recipe_name.empty()) together_[recipe.recipe_file.str()].emplace(built, &recipe);
    PublicationRequest publication{.subject = recipe.FileStem(),
                                   .output = request_.output,
                                   .staged = built,
                                   .allow_unresolved = recipe.ptpkg.allow_unresolved,
                                   .device_code = recipe.ptpkg.device_code,
                                   .linking = recipe.dynamic_linking,
                                   .slices = recipe.ptpkg.slices,
                                   .build_number = wanted.zip ? std::to_string(recipe.build_number) : "",
                                   .force = request_.force};
    if (!wanted.Packed().empty()) {
      publication.dependencies = DependenciesOf(candidates_, recipe, resolution);
      PTPKG_TRY(const std::string conda, AddConda(recipe, wanted, resolution, folder, built));
      if (wanted.for_tests) {
        for (const recipe::Recipe& part : builder::TestEnvironments(recipe)) {
          const std::size_t number = publication.tests.size() + 1;
          PTPKG_TRY(publication.tests.emplace_back(), AddTest(part, folder, {built, conda, number}, passed));
        }
      }
      if (!wanted.conda.empty()) publication.packs.push_back(conda);
      AddCheckNeeds(wanted, publication, conda, passed);
    }
    if (wanted.wheel) {
      PTPKG_TRY(publication.packs.emplace_back(), AddWheel(recipe, wanted, built));
    }
    if (wanted.zip) {
      PTPKG_TRY(publication.packs.emplace_back(), AddZip(recipe, built));
    }
    if (!wanted.Publishes()) return Ok();
    publication.passed = std::move(passed);
    if (signer_) {
      PTPKG_TRY(BuildDescription making, DescribeBuild(env_, plan_, built, request_, recipe));
      publication.signing = Signing{.signer = *signer_, .making = std::move(making)};
    }
    publications_.push_back(AddPublication(stages_, publication, plan_));
    for (const recipe::Recipe& other : recipes_) {
      if (!AreOutputsTogether(recipe, other) || !RequiresToRun(recipe, other.name)) continue;
      // Installing this one installs the other too, so it must be published first.
      const std::string earlier = "publish/" + other.FileStem();
      if (plan_.Find(earlier) != nullptr) plan_.nodes.back().after.insert(earlier);
    }
    of_package_[recipe.name].push_back(publications_.back());
    return Ok();
  }

  /// Run exports of what staging outputs are built with come along, as if this output required it (CEP 41).
  Result<void> InheritRunExports(const recipe::Recipe& recipe, index::Resolution& resolution) const {
    bool taken = recipe.inherit_run_exports;
    for (const recipe::Recipe* base = recipe.inherited.get(); base != nullptr && taken;
         taken = base->inherit_run_exports, base = base->inherited.get()) {
      index::Request request = HostRequestOf(*base);
      const index::Request own = HostRequestOf(recipe);
      AppendNew(own.ignore_by_name, request.ignore_by_name);
      AppendNew(own.ignore_from_package, request.ignore_from_package);
      request.subdir = recipe.subdir;
      PTPKG_TRY(const index::Resolution inherited, index::Resolve(candidates_, request),
                fmt::format("while resolving the requirements of the staging output '{}'", base->name));
      AppendNew(inherited.run_exports, resolution.run_exports);
      AppendNew(inherited.run_constrains, resolution.run_constrains);
    }
    return Ok();
  }

  /// The build node of `recipe` alone: of a staging output, or for `ptpkg dev`.
  Result<void> AddNative(const recipe::Recipe& recipe, std::set<std::string>& passed) {
    const std::optional<AbsPath> source = SourceOverride(recipe);
    PTPKG_CHECK(CheckOutputOutsideInputs(env_, request_.output, recipe, source));
    PTPKG_TRY(const index::Resolution resolution, index::Resolve(candidates_, HostRequestOf(recipe)),
              fmt::format("while resolving the requirements of {} '{}'",
                          recipe.staging ? "the staging output" : "the build of", recipe.name));
    PTPKG_TRY(
        const builder::RecipeFolder whole,
        builder::ReadRecipeFolder(env_, recipe, OutputPlacesBelow(env_, recipe.recipe_dir, request_.output)));
    PTPKG_TRY(const builder::RecipeFolder folder, OwnRecipeFolder(env_, recipe, outputs_, whole));
    PTPKG_TRY([[maybe_unused]] const std::string built, AddBuild(recipe, resolution, folder, source, passed));
    return Ok();
  }

  /// The build of a staging output, once for all that inherit from it. Adds to `passed` what those that are
  /// made of it have to wait for.
  Result<std::string> AddStaging(const recipe::Recipe& staging, std::set<std::string>& passed) {
    const std::string id = "build/" + staging.FileStem();
    const auto [at, added] = stagings_.try_emplace({staging.recipe_file.str(), id});
    if (added) {
      PTPKG_CHECK(builder::RequireTar(env_));
      PTPKG_CHECK(AddNative(staging, at->second.passed));
    }
    passed.insert(at->second.passed.begin(), at->second.passed.end());
    return id;
  }

  /// Looks, for each staging output, for what the outputs of this plan leave of it.
  void AddOutputs() {
    for (const auto& [key, of_key] : stagings_) {
      const Staging& staging = of_key;
      if (staging.heirs.empty()) continue;
      graph::Node node = stages_.MakeNode("outputs", plan_.Find(key.second)->subject);
      node.needs.emplace("staging", key.second);
      for (const std::string& built : staging.heirs) node.needs.emplace(built, built);
      node.inputs["zips"] = staging.zips;
      InsertAfterNeeds(std::move(node), plan_);
    }
  }

  /// Adds the checks that recipes wait for before they use `conda`. Its check comes with its publication; a
  /// package that is only used gets one here.
  void AddCheckNeeds(const OutputSelection& wanted, const PublicationRequest& publication,
                     const std::string& conda, std::set<std::string>& passed) {
    Verdicts& verdicts = verdicts_[conda];
    if (wanted.conda.empty() && wanted.for_others) {
      passed.insert(AddCheck(stages_, publication, conda, plan_));
    }
    if (!wanted.conda.empty() || wanted.for_others) verdicts.own.insert(CheckIdOf(conda));
    verdicts.own.insert(publication.tests.begin(), publication.tests.end());
    if (wanted.Publishes()) return;
    verdicts.unpublished = passed;
    verdicts.unpublished.insert(verdicts.own.begin(), verdicts.own.end());
  }

  /// The node reads these packages, and those that this plan makes must have passed before it starts. Adds to
  /// `passed` what no publication of theirs will wait for.
  void AddPackageNeeds(graph::Node& node, const std::vector<index::Candidate>& packages,
                       std::set<std::string>& passed) {
    SetPackages(node, packages, channel_);
    for (const index::Candidate& package : packages) {
      const auto found = verdicts_.find(package.planned_by);
      if (found == verdicts_.end()) continue;
      node.after.insert(found->second.own.begin(), found->second.own.end());
      passed.insert(found->second.unpublished.begin(), found->second.unpublished.end());
    }
  }

  [[nodiscard]] std::optional<AbsPath> SourceOverride(const recipe::Recipe& recipe) const {
    for (const auto& [name, path] : request_.sources) {
      if (source::OverrideApplies(recipe, name)) return path;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool IsRequiredByOther(const recipe::Recipe& recipe) const {
    return std::any_of(recipes_.begin(), recipes_.end(), [&](const recipe::Recipe& other) {
      const std::vector<std::string> names = HostNames(other);
      const bool for_tests = request_.test && builder::HasTests(other) && AreOutputsTogether(other, recipe) &&
                             RequiresToRun(other, recipe.name);
      const bool named = std::find(names.begin(), names.end(), recipe.name) != names.end();
      return other.name != recipe.name && (named || for_tests);
    });
  }

  /// One that makes nothing of the formats asked for, while another output or variant of its recipe does.
  [[nodiscard]] bool IsLeftOut(const recipe::Recipe& recipe) const {
    if (MakesRequestedFormat(request_, recipe) || IsRequiredByOther(recipe)) return false;
    return std::any_of(recipes_.begin(), recipes_.end(), [&](const recipe::Recipe& other) {
      return recipe.recipe_file == other.recipe_file && !other.skip && MakesRequestedFormat(request_, other);
    });
  }

  static index::Request HostRequestOf(const recipe::Recipe& recipe) {
    return {.host = recipe.requirements.host,
            .build = recipe.requirements.build,
            .ignore_by_name = recipe.requirements.ignore_run_exports.by_name,
            .ignore_from_package = recipe.requirements.ignore_run_exports.from_package,
            .subdir = recipe.subdir};
  }

  /// `built`, the build of `recipe`, has the files of a staging output.
  void NoteInheritor(const recipe::Recipe& recipe, const std::string& built) {
    Staging& staging = StagingOf(*recipe.inherited);
    staging.heirs.insert(built);
    const auto& formats = recipe.ptpkg.formats;
    const auto makes = [&](const char* format) {
      return std::find(formats.begin(), formats.end(), format) != formats.end();
    };
    if (!makes("zip") || makes("wheel")) return;
    staging.zips.emplace(built, recipe::EncodeOutput(recipe::ZipOutputOf(recipe)));
  }

  Result<std::string> AddBuild(const recipe::Recipe& recipe, const index::Resolution& resolution,
                               const builder::RecipeFolder& folder, const std::optional<AbsPath>& source,
                               std::set<std::string>& passed) {
    graph::Node node = stages_.MakeNode("build", recipe.FileStem());
    if (recipe.inherited != nullptr) {
      PTPKG_TRY(const std::string staging, AddStaging(*recipe.inherited, passed));
      if (!recipe.staging) NoteInheritor(recipe, node.id);
      node.needs.emplace("staging", staging);
    }
    PTPKG_TRY(const std::vector<std::string> texts, builder::VariableSearchTexts(env_, recipe, folder));
    node.inputs["recipe"] = recipe::EncodeNativeBuild(recipe::NativeBuildOf(recipe, texts));
    PTPKG_TRY(const std::optional<std::string> script,
              builder::BuildScriptText(env_.fs, recipe.script, recipe.recipe_dir));
    node.inputs["script"] = script.value_or("");
    source::SourceOptions sources{.left_out = SourceExclusions(env_, request_, recipe, source, texts)};
    SetSourceExclusions(node, sources.left_out);
    if (source) {
      sources.overrides.emplace(recipe.name, *source);
      node.places.emplace("source", *source);
    }
    SetSources(node, request_, recipe);
    node.inputs["source"] = "";
    if (node.id != unread_) {
      PTPKG_TRY(const Sha256 source_key, source::SourceKey(env_, recipe, sources));
      node.inputs["source"] = source_key.Hex();
    }
    SetRecipeFolder(node, folder);
    node.places.insert_or_assign("recipe", recipe.recipe_dir);
    AddPackageNeeds(node, resolution.packages, passed);
    PTPKG_CHECK(AddHost(node, recipe, resolution));
    node.inputs["source_date_epoch"] = env_.source_date_epoch;
    node.places.emplace("log", publish::OutputFolder::LogFileOf(request_.output, recipe.FileStem(), "build"));
    if (request_.keep_work) node.options.emplace("keep-work", "");
    if (recipe.ptpkg.memory_per_job > 0)
      node.options.emplace("memory-per-job", std::to_string(recipe.ptpkg.memory_per_job));
    if (!recipe.ptpkg.device_code.empty())
      node.options.emplace("device-code", Join(recipe.ptpkg.device_code, "\n"));
    if (!request_.preflight) node.options.emplace("no-preflight", "");
    if (request_.ccache) node.options.emplace("ccache", "");
    if (request_.fresh || request_.refresh) node.options.emplace("fresh", "");
    if (!recipe.ptpkg.resume) node.options.insert_or_assign("fresh", "always");
    return Add(std::move(node));
  }

  /// Adds the source of its tools.
  Result<void> AddHost(graph::Node& node, const recipe::Recipe& recipe, const index::Resolution& resolution) {
    if (known_tools_ && node.id == unread_) {
      SetCachedHost(node, *known_tools_, request_.tools);
      return Ok();
    }
    std::set<std::string> provided;
    for (const index::Candidate& package : resolution.packages) provided.insert(package.name);
    PTPKG_TRY(
        const builder::HostPlan host,
        builder::CheckTools(
            env_, recipe, {.host_env = request_.host_env, .options = request_.tools, .provided = provided}));
    PTPKG_CHECK(SetHost(env_, node, host, request_.tools));
    PTPKG_TRY(toolchains_[node.id], builder::ToolVersions(env_, host));
    return unread_.empty() ? ReportTools(recipe, host) : Ok();
  }

  Result<void> ReportTools(const recipe::Recipe& recipe, const builder::HostPlan& host) {
    PTPKG_TRY(const std::string origins, builder::ToolOrigins(env_, host));
    if (!origins.empty()) tools_.push_back(fmt::format("tools of {}: {}", recipe.FileStem(), origins));
    return Ok();
  }

  Result<std::string> AddConda(const recipe::Recipe& recipe, const OutputSelection& wanted,
                               const index::Resolution& resolution, const builder::RecipeFolder& folder,
                               const std::string& built) {
    graph::Node node = stages_.MakeNode("conda", recipe.FileStem());
    const recipe::CondaOutput output = recipe::CondaOutputOf(recipe);
    node.inputs["output"] = recipe::EncodeOutput(output);
    node.inputs["formats"] = wanted.Packed();
    node.inputs["run exports"] = {{"depends", resolution.run_exports},
                                  {"constrains", resolution.run_constrains}};
    SetRecipeFolder(node, folder);
    node.places.insert_or_assign("recipe", recipe.recipe_dir);
    PTPKG_CHECK(SetRecipeFile(env_, node, recipe.recipe_file));
    PTPKG_CHECK(SetOutsideFiles(env_, node, recipe));
    std::string id = AddPack(std::move(node), built);
    AddCandidate(recipe, output, wanted, resolution, id);
    return id;
  }

  Result<std::string> AddWheel(const recipe::Recipe& recipe, const OutputSelection& wanted,
                               const std::string& built) {
    graph::Node node = stages_.MakeNode("wheel", recipe.FileStem());
    node.inputs["output"] = recipe::EncodeOutput(recipe::WheelOutputOf(recipe));
    node.inputs["wanted"] = wanted.wheel_named;
    SetWheelForm(request_.wheel_form, node);
    PTPKG_CHECK(SetWheelRepair(env_, recipe.ptpkg.wheel_repair, node));
    node.inputs["materials"] = MaterialsOfBuild(plan_, built, request_, recipe, toolchains_);
    return AddPack(std::move(node), built);
  }

  Result<std::string> AddZip(const recipe::Recipe& recipe, const std::string& built) {
    const recipe::ZipOutput output = recipe::ZipOutputOf(recipe);
    // Else it would be told when the second is published, after hours of compiling.
    const auto [other, added] = zips_.emplace(output.zip.name, recipe.FileStem());
    if (!added) {
      return Error(ErrorCode::kInvalidInput, fmt::format("'{}' and '{}' would both write '{}.zip'",
                                                         other->second, recipe.FileStem(), output.zip.name))
          .WithHint(
              "make extra.ptpkg.zip.name different, list the format 'zip' for one of them, or build them "
              "into different output directories (--select, --output)");
    }
    PTPKG_CHECK(CheckZipPlace(recipe));
    graph::Node node = stages_.MakeNode("zip", recipe.FileStem());
    node.inputs["output"] = recipe::EncodeOutput(output);
    SetDeflater(node);
    return AddPack(std::move(node), built);
  }

  /// The same of a variant that an earlier run has published.
  Result<void> CheckZipPlace(const recipe::Recipe& recipe) const {
    if (request_.force) return Ok();
    PTPKG_TRY(publish::OutputFolder output, publish::OutputFolder::Open(env_, request_.output));
    const std::string name = recipe.ptpkg.zip.name + std::string(ArtifactExtension(ArtifactFormat::kZip));
    const RelPath place = publish::OutputFolder::PlaceOf(ArtifactFormat::kZip, recipe.subdir, name);
    return output.CheckZipPlace({.path = place.str(), .variant = recipe.FileStem()},
                                std::to_string(recipe.build_number));
  }

  std::string AddPack(graph::Node node, const std::string& built) {
    node.inputs["source_date_epoch"] = env_.source_date_epoch;
    node.needs.emplace("staged tree", built);
    node.places.emplace("output", request_.output);
    if (request_.keep_work) node.options.emplace("keep-work", "");
    return Add(std::move(node));
  }

  struct TestPlace {
    const std::string& built;   ///< Id of the build.
    const std::string& packed;  ///< Id of the package.
    std::size_t number;         ///< Number of the environment, from 1.
  };

  /// The tests of one environment.
  Result<std::string> AddTest(const recipe::Recipe& recipe, const builder::RecipeFolder& folder,
                              const TestPlace& place, std::set<std::string>& passed) {
    graph::Node node = stages_.MakeNode("test", recipe.FileStem());
    const std::string number = place.number == 1 ? "" : fmt::format("-{}", place.number);
    node.id += number;
    PTPKG_TRY(const index::Resolution resolution,
              index::Resolve(candidates_, {.host = builder::TestRequirements(recipe),
                                           .build = {},
                                           .ignore_by_name = {},
                                           .ignore_from_package = {},
                                           .subdir = recipe.subdir}),
              "while resolving the requirements of the tests");
    recipe::Recipe tested = recipe;
    tested.sources.clear();  // no test reads them, and a key holds no place
    node.inputs["recipe"] = recipe::EncodeRecipe(tested);
    SetRecipeFolder(node, folder);
    node.places.insert_or_assign("recipe", recipe.recipe_dir);
    std::vector<index::Candidate> others;
    builder::HostRequest tools{.options = request_.tools};
    for (const index::Candidate& package : resolution.packages) {
      if (package.name == recipe.name) continue;
      others.push_back(package);
      tools.provided.insert(package.name);
    }
    AddPackageNeeds(node, others, passed);
    // Tools that the build took from a client come from there for the tests too.
    const Json& build_env = plan_.Find(place.built)->inputs["env"];
    tools.host_env = build_env == "conda" ? builder::HostEnv::kConda : builder::HostEnv::kSystem;
    if (build_env == "wheels") tools.host_env = request_.host_env;
    PTPKG_TRY(const builder::HostPlan host, builder::CheckTestTools(env_, recipe, tools),
              "while looking for the tools of the tests");
    PTPKG_CHECK(SetHost(env_, node, host, request_.tools));
    node.needs.emplace("artifacts", place.packed);
    node.places.emplace("output", request_.output);
    node.places.emplace(
        "log", publish::OutputFolder::LogFileOf(request_.output, recipe.FileStem(), "test" + number));
    if (request_.keep_work) node.options.emplace("keep-work", "");
    return Add(std::move(node));
  }

  /// Later recipes may build with this one: it counts as if it were in the channel already.
  void AddCandidate(const recipe::Recipe& recipe, const recipe::CondaOutput& output,
                    const OutputSelection& wanted, const index::Resolution& resolution,
                    const std::string& packed) {
    conda::PackageMetadata metadata = convert::CondaMetadataOf(output, resolution.run_exports);
    metadata.constrains.insert(metadata.constrains.end(), resolution.run_constrains.begin(),
                               resolution.run_constrains.end());
    const ArtifactFormat format =
        wanted.Packed().front() == "conda" ? ArtifactFormat::kConda : ArtifactFormat::kTarBz2;
    candidates_.push_back(PlannedCandidate(recipe, metadata, format, packed));
  }

  std::string Add(graph::Node node) {
    std::string id = node.id;
    plan_.nodes.push_back(std::move(node));
    return id;
  }

  Env& env_;
  const BuildRequest& request_;
  const std::vector<recipe::Recipe>& recipes_;
  const std::vector<recipe::Recipe>& outputs_;
  graph::StageTable stages_;
  AbsPath channel_;
  std::vector<index::Candidate> candidates_;
  graph::Plan plan_;
  std::optional<Signer> signer_;             // nullopt: nothing is signed
  std::string unread_;                       // id of the node whose sources are not read
  std::optional<std::string> known_tools_;   // of that node
  std::vector<std::string> tools_;           // for people
  Toolchains toolchains_;                    // for bills of materials
  std::map<std::string, std::string> zips_;  // name → the variant that makes it
  std::vector<std::string> publications_;
  std::map<std::string, std::vector<std::string>> of_package_;  // the same ids, by the package's name

  struct Verdicts {
    std::set<std::string> own;          ///< Ids of its check and its test.
    std::set<std::string> unpublished;  ///< Ids of those and its requirements' that no publication needs yet.
  };
  std::map<std::string, Verdicts> verdicts_;  ///< By the id of the conda node.

  struct Staging {
    std::set<std::string> passed;      ///< Ids that publications of its outputs wait for.
    std::set<std::string> heirs;       ///< Ids of build nodes that inherit.
    std::map<std::string, Json> zips;  ///< For outputs with a zip and no wheel → its ZipOutput.
  };
  Staging& StagingOf(const recipe::Recipe& staging) {
    return stagings_[{staging.recipe_file.str(), "build/" + staging.FileStem()}];
  }
  std::map<std::pair<std::string, std::string>, Staging> stagings_;  ///< By recipe file and id.
  OutputsTogether together_;
};

/// `recipes` and what --select leaves out: no key must depend on what else is built.
Result<std::vector<recipe::Recipe>> AllOutputs(Env& env, const BuildRequest& request,
                                               const std::vector<recipe::Recipe>& recipes) {
  const bool outputs = std::any_of(recipes.begin(), recipes.end(),
                                   [](const recipe::Recipe& recipe) { return !recipe.recipe_name.empty(); });
  if (request.select.empty() || !outputs) return recipes;
  return Render(env, {.recipes = request.recipes, .variant_files = request.variant_files, .select = {}});
}

}  // namespace

Result<BuildPlan> PlanBuild(Env& env, const BuildRequest& request) {
  if (request.ccache) PTPKG_CHECK(builder::FindCompilerCache(env));
  const RenderRequest wanted{
      .recipes = request.recipes, .variant_files = request.variant_files, .select = request.select};
  PTPKG_TRY(std::vector<recipe::Recipe> rendered, Render(env, wanted));
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
  PTPKG_TRY(const std::vector<std::size_t> order, OrderByRequirements(items));
  std::vector<recipe::Recipe> recipes;
  for (const std::size_t index : order) recipes.push_back(rendered[index]);
  PTPKG_CHECK(CheckSources(request, recipes));
  PTPKG_CHECK(ResolveSources(env, request, recipes));
  PTPKG_TRY(const std::vector<recipe::Recipe> outputs, AllOutputs(env, request, recipes));
  PTPKG_TRY(BuildPlan result, BuildPlanner(env, request, recipes, outputs).Run());
  if (request.refresh) {
    for (graph::Node& node : result.plan.nodes) {
      if (node.stage != "source") node.options.emplace(graph::kRefreshOption, "");
    }
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
  PTPKG_TRY(graph::Plan plan,
            BuildPlanner(env, request, rendered, outputs).RunNative(own.front(), known_tools),
            fmt::format("while planning '{}'", recipe.FileStem()));
  PTPKG_CHECK(graph::CheckPlan(plan));
  return NativePlan{.recipe = std::move(own.front()), .plan = std::move(plan)};
}

Result<BuildSummary> Build(Env& env, const BuildRequest& request) {
  PTPKG_CHECK(builder::CheckWorkFolder(ResolveExistingPart(env, env.cache_dir)));
  PTPKG_TRY(const BuildPlan planned, PlanBuild(env, request));
  if (!request.test) env.reporter.Warn("tests are skipped: these packages are untested");
  BuildSummary summary;
  if (!planned.plan.nodes.empty()) {
    PTPKG_TRY(summary, RunPlan(env, planned.plan, request.output, {.dry_run = request.dry_run}));
  }
  summary.skipped = planned.skipped;
  summary.tools = planned.tools;
  return summary;
}

}  // namespace ptpkg::pipeline
