#include "pipeline/build.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "channel/index.h"
#include "conda/package.h"
#include "conda/package_info.h"
#include "graph/store.h"
#include "pipeline/family.h"
#include "pipeline/render.h"
#include "pipeline/resolve.h"
#include "pipeline/stage_timer.h"
#include "pipeline/staged_result.h"
#include "pipeline/work_folder.h"
#include "source/prepare.h"
#include "support/json.h"
#include "support/text.h"

namespace ptpkg::pipeline {

namespace {

// Raised when a stage makes something else of the same inputs.
constexpr int kBuildVersion = 1;

/// A package of the output channel, unpacked and relocated into a host prefix.
Result<void> UnpackIntoHost(Env& env, const AbsPath& package, const AbsPath& prefix) {
  PTPKG_TRY([[maybe_unused]] const conda::PackageInfo info,
            conda::UnpackPackage(env, package, prefix, {.prefix = prefix.str()}));
  return Ok();
}

/// Everything about one variant that travels from stage to stage.
class VariantBuild {
 public:
  VariantBuild(Env& env, const BuildRequest& request, publish::OutputFolder& output, graph::StageStore& store,
               const recipe::Recipe& recipe, BuildSummary& summary)
      : env_(env), request_(request), output_(output), store_(store), recipe_(recipe), summary_(summary) {}

  /// The pipeline of one variant, in order.
  Result<void> Run() {
    PTPKG_TRY(const Resolution resolution, ResolveLocal(env_, recipe_, output_.CondaRoot()));
    PTPKG_TRY(const graph::StageInputs inputs, BuildInputs(resolution));
    PTPKG_TRY(const std::optional<AbsPath> finished, Staged(inputs, resolution));
    if (!finished) return DryRunRest();
    PTPKG_TRY(const StagedResult staged, LoadStaged(env_, *finished));
    // From here on the staged tree is read-only: each family works on links of its own.
    const FamilyContext context{.recipe = recipe_,
                                .staged = staged,
                                .staged_key = inputs.Key(),
                                .run_exports = resolution.run_exports,
                                .output = output_,
                                .store = store_,
                                .dry_run = request_.dry_run};
    const std::set<ArtifactFormat> formats = Formats();
    const bool conda = formats.contains(ArtifactFormat::kConda) || formats.contains(ArtifactFormat::kTarBz2);
    if (conda) PTPKG_CHECK(PackCondaFamily(env_, context, formats, summary_));
    if (formats.contains(ArtifactFormat::kWheel)) PTPKG_CHECK(PackWheelFamily(env_, context, summary_));
    return Ok();
  }

 private:
  Result<graph::StageInputs> BuildInputs(const Resolution& resolution) {
    graph::StageInputs inputs("build", recipe_.FileStem(), kBuildVersion);
    PTPKG_TRY(const Sha256 source, source::SourceKey(env_, recipe_, {.overrides = request_.sources}));
    inputs.Add("source", source.Hex());
    PTPKG_TRY(const std::string recipe_part, build::RecipeKey(env_, recipe_));
    inputs.Add("recipe", recipe_part);
    PTPKG_TRY(const std::string tools, build::ToolKey(env_, recipe_, request_.host_env));
    inputs.Add("tools", tools);
    std::string packages;
    for (const build::LocalPackage& package : resolution.packages) {
      packages += package.name + " " + package.sha256.Hex() + "\n";
    }
    inputs.Add("packages", packages);
    inputs.Add("source_date_epoch", std::to_string(env_.source_date_epoch));
    return inputs;
  }

  /// The folder of the staged result, made now unless it is there; nullopt in a dry run that would make it.
  Result<std::optional<AbsPath>> Staged(const graph::StageInputs& inputs, const Resolution& resolution) {
    PTPKG_TRY(const std::optional<AbsPath> known, store_.Find(inputs));
    StageTimer timer(env_, summary_, "build", recipe_.FileStem());
    if (known) {
      timer.Skipped("inputs unchanged");
      return known;
    }
    PTPKG_TRY(const std::string reason, store_.WhyChanged(inputs));
    if (request_.dry_run) {
      timer.Skipped("would run: " + reason);
      return std::optional<AbsPath>();
    }
    PTPKG_TRY(const AbsPath made,
              store_.Put(inputs, [&](const AbsPath& folder) { return BuildInto(folder, resolution); }));
    PTPKG_CHECK(store_.Record(inputs, Json::object()));
    timer.Ran(reason);
    return std::optional(made);
  }

  /// Source and build stage in a private work folder; leaves "tree/" and "staged.json" in `folder`.
  Result<void> BuildInto(const AbsPath& folder, const Resolution& resolution) {
    PTPKG_TRY(TempDir work, MakeWorkFolder(env_));
    auto built = BuildIn(work.path(), folder, resolution);
    if (request_.keep_work) {
      env_.reporter.Note(fmt::format("work folder kept: '{}'", std::move(work).Release().str()));
    }
    return built;
  }

  Result<void> BuildIn(const AbsPath& work, const AbsPath& folder, const Resolution& resolution) {
    PTPKG_TRY(const build::WorkLayout layout, build::MakeWorkLayout(env_, work));
    PTPKG_TRY(const source::SourceTree source,
              source::Prepare(env_, recipe_, {.overrides = request_.sources}, layout.source));
    PTPKG_TRY(const build::StagedBuild staged,
              build::Run(env_, build::BuildInput{.recipe = recipe_,
                                                 .source_root = source.root,
                                                 .packages = resolution.packages,
                                                 .unpack = UnpackIntoHost,
                                                 .host_env = request_.host_env,
                                                 .layout = layout,
                                                 .log_file = output_.LogFile(recipe_.FileStem(), "build")}));
    return SaveStaged(env_, recipe_, staged, source.root, folder);
  }

  Result<void> DryRunRest() {
    StageTimer(env_, summary_, "package", recipe_.FileStem()).Skipped("would run: 'build' runs");
    return Ok();
  }

  [[nodiscard]] std::set<ArtifactFormat> Formats() const {
    std::set<ArtifactFormat> wanted;
    for (const ArtifactFormat format :
         {ArtifactFormat::kConda, ArtifactFormat::kTarBz2, ArtifactFormat::kWheel}) {
      const std::string name(ArtifactFormatName(format));
      const bool offered = std::find(recipe_.ptpkg.formats.begin(), recipe_.ptpkg.formats.end(), name) !=
                           recipe_.ptpkg.formats.end();
      if (offered && (request_.formats.empty() || request_.formats.contains(format))) wanted.insert(format);
    }
    return wanted;
  }

  Env& env_;
  const BuildRequest& request_;
  publish::OutputFolder& output_;
  graph::StageStore& store_;
  const recipe::Recipe& recipe_;
  BuildSummary& summary_;
};

/// A "--source" that fits no recipe is a typing error, and the build would take another source than meant.
Result<void> CheckSources(const BuildRequest& request, const std::vector<recipe::Recipe>& recipes) {
  std::set<std::string> known;
  for (const recipe::Recipe& recipe : recipes)
    known.insert({recipe.name, std::string(recipe.recipe_dir.Name())});
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& source : request.sources) {
    const std::string& name = source.first;
    const bool applies = std::any_of(recipes.begin(), recipes.end(), [&](const recipe::Recipe& recipe) {
      return source::OverrideApplies(recipe, name);
    });
    if (applies) continue;
    Error error(ErrorCode::kUsage, fmt::format("--source '{}' names none of the recipes", name));
    if (const auto nearest = NearestMatch(name, names)) {
      return std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest));
    }
    return std::move(error).WithHint(fmt::format("they are: {}", Join(names, ", ")));
  }
  return Ok();
}

Result<void> IndexOutput(Env& env, const publish::OutputFolder& output, BuildSummary& summary) {
  StageTimer timer(env, summary, "index", std::string(output.root().Name()));
  PTPKG_TRY(const channel::IndexSummary conda, channel::IndexConda(env, output.CondaRoot()));
  PTPKG_TRY(const channel::IndexSummary wheels, channel::IndexWheels(env, output.WheelRoot()));
  const std::size_t written = conda.written.size() + wheels.written.size();
  if (written == 0) {
    timer.Skipped("no package changed");
  } else {
    timer.Ran(fmt::format("{} index files written", written));
  }
  return Ok();
}

}  // namespace

Result<BuildSummary> Build(Env& env, const BuildRequest& request) {
  BuildSummary summary;
  PTPKG_TRY(std::vector<recipe::Recipe> rendered, Render(env, {.recipes = request.recipes,
                                                               .variant_files = request.variant_files,
                                                               .select = request.select}));
  PTPKG_TRY(const std::vector<recipe::Recipe> recipes, OrderByRequirements(std::move(rendered)));
  PTPKG_CHECK(CheckSources(request, recipes));
  PTPKG_TRY(publish::OutputFolder output, publish::OutputFolder::Open(env, request.output, request.force));
  PTPKG_TRY(graph::StageStore store, graph::StageStore::Open(env, env.cache_dir / "stages"));
  for (const recipe::Recipe& recipe : recipes) {
    if (recipe.skip) {
      summary.skipped.push_back(recipe.FileStem());
      continue;
    }
    VariantBuild variant(env, request, output, store, recipe, summary);
    PTPKG_CHECK(variant.Run(), fmt::format("while building '{}'", recipe.FileStem()));
    // Each variant leaves a channel that is whole: the next one, or another process, may resolve from it.
    if (!request.dry_run) PTPKG_CHECK(IndexOutput(env, output, summary));
  }
  if (!request.dry_run) PTPKG_CHECK(output.WriteManifest(summary.artifacts, summary.stages));
  return summary;
}

}  // namespace ptpkg::pipeline
