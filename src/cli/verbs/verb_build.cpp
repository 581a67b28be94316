// ptpkg build, conda and wheel. Layer: cli.
// The three share flags and their end. 'conda X' and 'wheel X' build X for one family if X is a recipe, and
// convert it if X is an artifact. RunFamily() decides by the input, and refuses options of the other case by
// name, because a dropped option makes another package than the user wanted.
// Results go to stdout: a path for each artifact, or one document. Everything for people goes to stderr.

#include <array>
#include <fmt/core.h>
#include <memory>
#include <set>
#include <span>

#include "cli/output/findings.h"
#include "cli/verbs/build_summary.h"
#include "cli/verbs/recipe_flags.h"
#include "pipeline/commands/relink_command.h"
#include "pipeline/plan/repack_plan.h"
#include "pipeline/plan/run_plan.h"
#include "support/text/json_utf8.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

/// Flags of build, conda and wheel, as typed.
struct BuildFlags {
  RecipeFlags recipe;  ///< For conda and wheel, `recipe.recipes` may be one artifact.
  std::vector<std::string> formats;
  std::string layout;
  std::string build_string;
  std::uint64_t build_number = 0;
  std::string distribution;
  std::vector<std::string> pythons;
  bool explain = false;
  bool keep_work = false;
  bool force = false;
  bool fresh = false;
  bool refresh = false;
  bool no_cache = false;
  bool ccache = false;
  RemoteCacheFlags remote_cache;
  bool dry_run = false;
  bool plan = false;
  bool no_preflight = false;
  std::optional<std::string> sign_key;
  std::string test = "run";
  std::string compression = "default";  ///< For wheels.
  std::string platform;                 ///< For wheels.
  std::set<std::string> given;          ///< Long names of the options that the line has.
};

/// A setting of a configuration file gives way to --no-cache; ChooseCache() refuses the option itself.
bool KeepsWork(const BuildFlags& flags) { return flags.keep_work && !flags.no_cache; }

Result<pipeline::BuildRequest> MakeBuildRequest(Context& context, const BuildFlags& flags) {
  PTPKG_TRY(pipeline::BuildRequest request, RequestOf(context, flags.recipe));
  PTPKG_TRY(request.formats, ParseFormats(flags.formats));
  // Before the request is used: from_env.yaml can choose recipes, variant files, formats and the number of
  // jobs.
  if (flags.recipe.from_env) {
    pipeline::RenderRequest chosen{
        .recipes = request.recipes, .variant_files = request.variant_files, .select = {}};
    // PACKAGE_TYPE wins over a configuration file, and loses to the command line.
    std::set<ArtifactFormat> formats =
        flags.given.contains("--format") ? request.formats : std::set<ArtifactFormat>();
    PTPKG_CHECK(TakeEnvironment(context, chosen, formats));
    if (!formats.empty()) request.formats = std::move(formats);
    request.recipes = std::move(chosen.recipes);
    request.variant_files = std::move(chosen.variant_files);
    request.settings = std::move(chosen.settings);
  }
  request.force = flags.force;
  request.keep_work = KeepsWork(flags);
  request.fresh = flags.fresh;
  request.refresh = flags.refresh;
  // A flag is only on or absent, so no setting can be taken from its variable by the parser.
  request.ccache = flags.ccache || context.IsSet("PTPKG_CCACHE");
  PTPKG_TRY(request.remote_cache, RemoteCacheOf(context, flags.remote_cache, flags.given));
  request.preflight = !flags.no_preflight;
  request.dry_run = flags.dry_run;
  request.test = flags.test != "skip";
  PTPKG_TRY(request.sign_key, ResolveFile(context, flags.sign_key));
  PTPKG_TRY(request.wheel_form, pipeline::ParseWheelForm(flags.compression, flags.platform));
  return request;
}

Json SummaryToJson(const pipeline::BuildSummary& summary, const AbsPath& output) {
  Json artifacts = Json::array();
  for (const ArtifactRecord& record : summary.artifacts) {
    Json item = ArtifactRecordToJson(record);
    item["path"] = output.str() + "/" + record.path;
    artifacts.push_back(std::move(item));
  }
  Json stages = Json::array();
  for (const StageTime& stage : summary.stages) stages.push_back(StageTimeToJson(stage));
  return {{"artifacts", artifacts},
          {"stages", stages},
          {"skipped", summary.skipped},
          {"left_out", summary.left_out},
          {"findings", FindingsToJson(summary.reports)}};
}

void PrintSummary(Context& context, const pipeline::BuildSummary& summary, const AbsPath& output,
                  const BuildFlags& flags) {
  if (flags.explain) {
    for (const std::string& line : summary.tools) context.Log(line);
    for (const std::string& line : ExplainLines(summary, {.dry_run = flags.dry_run})) context.Log(line);
  }
  for (const std::string& skipped : summary.skipped) {
    context.env().reporter.Note(fmt::format("skipped '{}': its recipe skips this variant", skipped));
  }
  PrintFindings(context, summary.reports);
  for (const ArtifactRecord& record : summary.artifacts) context.Print(output.str() + "/" + record.path);
  // Artifacts of other variants can be complete after a failure. Then the line says where they are.
  if (summary.failure && summary.artifacts.empty()) return;
  context.Log(SummaryLine(
      summary,
      {.output = context.Shown(output.str()), .seconds = context.SecondsSoFar(), .dry_run = flags.dry_run}));
}

/// The end of build, conda and wheel. `document` is what --json prints.
Result<ExitCode> Finish(Context& context, const pipeline::BuildSummary& summary, const AbsPath& output,
                        const BuildFlags& flags, const Json& document) {
  if (!context.json()) PrintSummary(context, summary, output, flags);
  if (summary.failure) {
    // Artifacts of other variants are in the output directory all the same, so the error document lists them.
    context.SetErrorDetails(document);
    return Error(*summary.failure);
  }
  if (context.json()) context.PrintJson(document);
  return CodeOfIndex(summary.left_out.size());
}

/// `--plan`: the nodes and what would become of each, or with --json all that another executor needs.
Result<ExitCode> PrintPlan(Context& context, const graph::Plan& plan, const AbsPath& output,
                           const pipeline::RemoteCacheOptions& remote_cache = {}) {
  if (context.json()) {
    const Json document = graph::PlanToJson(plan);
    // Other documents show U+FFFD for bytes that are not UTF-8. A plan is read back, and would name another
    // file.
    PTPKG_CHECK(CheckUtf8(document, "the plan"));
    context.PrintJson(document);
    return kDone;
  }
  PTPKG_TRY(const std::vector<std::string> lines,
            pipeline::DescribePlan(context.env(), plan, output, remote_cache));
  for (const std::string& line : lines) context.Print(line);
  return kDone;
}

/// --no-cache. A work directory would be removed with the cache.
Result<void> ChooseCache(Context& context, const BuildFlags& flags) {
  if (!flags.no_cache) return Ok();
  if (flags.given.contains("--keep-work"))
    return Error(ErrorCode::kUsage, "--keep-work keeps directories in the cache, and --no-cache has none");
  // Only on the command line: a directory in a configuration file is for runs that keep a cache.
  if (context.flags().given.contains("--cache-dir")) {
    return Error(ErrorCode::kUsage, "--no-cache and --cache-dir exclude each other")
        .WithHint("TMPDIR names the directory in which --no-cache makes its own");
  }
  return context.UseTemporaryCache();
}

/// Names builds that --fresh did not run because their results are stored.
void NoteStoredResult(Context& context, const pipeline::BuildSummary& summary) {
  for (const StageTime& stage : summary.stages) {
    if (stage.stage != "build" || stage.ran) continue;
    context.env().reporter.Note(fmt::format(
        "--fresh: '{}' is stored and was not built; use --refresh to build it again", stage.subject));
  }
}

Result<ExitCode> RunBuild(Context& context, const BuildFlags& flags) {
  PTPKG_CHECK(ChooseCache(context, flags));
  PTPKG_TRY(const pipeline::BuildRequest request, MakeBuildRequest(context, flags));
  if (flags.plan) {
    PTPKG_TRY(const pipeline::BuildPlan planned, pipeline::PlanBuild(context.env(), request));
    if (!context.json()) {
      for (const std::string& line : planned.tools) context.Log(line);
    }
    return PrintPlan(context, planned.plan, request.output, request.remote_cache);
  }
  PTPKG_TRY(const pipeline::BuildSummary summary, pipeline::Build(context.env(), request));
  // People who say --fresh expect a build, and a stored result needs none.
  if (flags.fresh && !flags.dry_run && !summary.failure) NoteStoredResult(context, summary);
  return Finish(context, summary, request.output, flags, SummaryToJson(summary, request.output));
}

Result<ExitCode> RunRepack(Context& context, const BuildFlags& flags) {
  PTPKG_CHECK(ChooseCache(context, flags));
  if (flags.recipe.recipes.size() != 1) return Error(ErrorCode::kUsage, "more than one artifact was given");
  pipeline::RepackRequest request;
  PTPKG_TRY(request.input, ResolveInput(context, flags.recipe.recipes.front()));
  PTPKG_TRY(request.output, context.Path(flags.recipe.output));
  PTPKG_TRY(request.formats, ParseFormats(flags.formats));
  request.layout = flags.layout;
  request.build_string = flags.build_string;
  request.build_number = flags.build_number;
  request.distribution = flags.distribution;
  for (const std::string& list : flags.pythons) {
    for (std::string& python : Split(list, ',')) request.pythons.push_back(std::move(python));
  }
  request.force = flags.force;
  request.keep_work = KeepsWork(flags);
  request.dry_run = flags.dry_run;
  PTPKG_TRY(request.wheel_form, pipeline::ParseWheelForm(flags.compression, flags.platform));
  PTPKG_TRY(request.sign_key, ResolveFile(context, flags.sign_key));
  if (flags.plan) {
    PTPKG_TRY(const graph::Plan plan, pipeline::PlanRepack(context.env(), request));
    return PrintPlan(context, plan, request.output);
  }
  PTPKG_TRY(const pipeline::BuildSummary summary, pipeline::Repack(context.env(), request));
  // Names of Python's and conda's packages differ, and a wrong name only shows when somebody installs.
  for (const std::string& unknown : summary.unknown_requirements) {
    context.env().reporter.Warn(
        fmt::format("no conda name is known for requirement '{}': kept its own name", unknown));
  }
  Json document = SummaryToJson(summary, request.output);
  document["unknown_requirements"] = summary.unknown_requirements;
  return Finish(context, summary, request.output, flags, document);
}

bool IsPackage(const std::string& path) { return path.ends_with(".conda") || path.ends_with(".tar.bz2"); }

// Options of `conda X` and `wheel X` that mean nothing when X is an artifact, and when X is a recipe.
constexpr std::array<std::string_view, 15> kOfRecipes = {
    "--variants",  "--select",       "--source", "--env",          "--python-exe",
    "--conda-exe", "--cuda-home",    "--test",   "--fresh",        "--refresh",
    "--offline",   "--no-preflight", "--ccache", "--remote-cache", "--remote-cache-read-only"};
constexpr std::array<std::string_view, 5> kOfArtifacts = {"--layout", "--build-string", "--build-number",
                                                          "--python", "--distribution"};

/// An option that is silently dropped makes another package than was asked for.
Result<void> RefuseOptions(const BuildFlags& flags, std::span<const std::string_view> useless, bool repack) {
  for (const std::string_view name : useless) {
    if (!flags.given.contains(std::string(name))) continue;
    const std::string& input = flags.recipe.recipes.front();
    if (repack) {
      return Error(ErrorCode::kUsage,
                   fmt::format("'{}' applies to recipes, but '{}' is a finished package", name, input))
          .WithHint("leave it out");
    }
    return Error(ErrorCode::kUsage,
                 fmt::format("'{}' applies to converted packages, but '{}' is a recipe", name, input))
        .WithHint("leave it out: set it in the recipe or its variants");
  }
  return Ok();
}

/// A zip is of neither family.
bool IsOfFamily(ArtifactFormat format, bool conda) {
  if (format == ArtifactFormat::kWheel) return !conda;
  return conda && format != ArtifactFormat::kZip;
}

/// Same error as for a repacked package: `ptpkg conda` never makes a wheel.
Result<void> RefuseOtherFamily(const BuildFlags& flags, bool conda) {
  PTPKG_TRY(const std::set<ArtifactFormat> formats, ParseFormats(flags.formats));
  for (const ArtifactFormat format : formats) {
    if (IsOfFamily(format, conda)) continue;
    return Error(ErrorCode::kUsage, fmt::format("'ptpkg {}' does not make the format {}",
                                                conda ? "conda" : "wheel", ArtifactFormatName(format)))
        .WithHint(conda
                      ? "it makes conda and tar.bz2; 'ptpkg wheel' makes wheels, 'ptpkg build' all formats"
                      : "it makes wheels; 'ptpkg conda' makes conda and tar.bz2, 'ptpkg build' all formats");
  }
  return Ok();
}

/// `conda X` and `wheel X`: an artifact is repacked, a recipe is built for one family.
Result<ExitCode> RunFamily(Context& context, BuildFlags flags, bool conda) {
  // INPUT can repeat only for recipes. RunRepack() refuses a second artifact.
  const std::string& first = flags.recipe.recipes.front();
  // A directory can hold a recipe or an unpacked wheel, so its content decides. For files the name decides.
  if (!conda) {
    PTPKG_TRY(const AbsPath path, context.Path(first));
    PTPKG_TRY(const bool is_tree, pipeline::IsWheelTree(context.env(), path));
    if (is_tree) {
      PTPKG_CHECK(RefuseOptions(flags, kOfRecipes, true));
      return RunRepack(context, flags);
    }
  }
  if (conda ? first.ends_with(".whl") : IsPackage(first)) {
    PTPKG_CHECK(RefuseOptions(flags, kOfRecipes, true));
    return RunRepack(context, flags);
  }
  if (first.ends_with(".whl") || IsPackage(first)) {
    return Error(ErrorCode::kUsage, fmt::format("'{}' already has this format", first))
        .WithHint("'ptpkg conda' takes a recipe or a wheel, 'ptpkg wheel' a recipe or a conda package");
  }
  // Otherwise a zip would be read as a recipe, and the error would be about YAML.
  if (first.ends_with(ArtifactExtension(ArtifactFormat::kZip))) {
    return Error(ErrorCode::kUsage, fmt::format("cannot make a {} from '{}': a zip has no metadata",
                                                conda ? "conda package" : "wheel", first))
        .WithHint("give the recipe that made it");
  }
  PTPKG_CHECK(RefuseOptions(flags, kOfArtifacts, false));
  PTPKG_CHECK(RefuseOtherFamily(flags, conda));
  if (flags.formats.empty()) {
    flags.formats = conda ? std::vector<std::string>{"conda", "tar.bz2"} : std::vector<std::string>{"wheel"};
  }
  return RunBuild(context, flags);
}

/// Help text and default of --format.
struct FormatHelp {
  const char* help;
  const char* default_text;
};

std::vector<Option> BuildOptions(BuildFlags& flags, const FormatHelp& formats) {
  std::vector<Option> options =
      RecipeOptions(flags.recipe, "Write artifacts, index, logs and manifest to DIR");
  std::vector<Option> own = {
      FormatOption(flags.formats, formats.help, formats.default_text),
      {.names = "--explain", .help = "Show why each stage ran or was skipped", .target = &flags.explain},
      {.names = "--keep-work", .help = "Keep the work directories", .target = &flags.keep_work},
      {.names = "--fresh",
       .help = "Start anew instead of resuming; still use stored results",
       .target = &flags.fresh},
      {.names = "--refresh",
       .help = "Rebuild stored results and publish them again",
       .target = &flags.refresh},
      {.names = "--no-cache",
       .help = "Use an empty cache, and remove it at the end",
       .target = &flags.no_cache},
      CcacheOption(flags.ccache),
      NoPreflightOption(flags.no_preflight),
      {.names = "--force", .help = "Replace files that ptpkg did not make", .target = &flags.force},
      {.names = "--dry-run", .help = "Show which stages would run; write nothing", .target = &flags.dry_run},
      {.names = "--plan", .help = "Print the plan; with --json, for 'ptpkg run-node'", .target = &flags.plan},
      {.names = "--sign-key",
       .value = "FILE",
       .help = "Sign artifacts with the PEM private key in FILE",
       .target = &flags.sign_key},
      TestOption(flags.test),
  };
  std::move(own.begin(), own.end(), std::back_inserter(options));
  std::vector<Option> remote = RemoteCacheOptions(flags.remote_cache);
  std::move(remote.begin(), remote.end(), std::back_inserter(options));
  return options;
}

struct FamilyHelp {
  const char* input;
  FormatHelp formats;
};

/// Options of `conda X` and `wheel X`: those of build, one for the layout, and `own`.
std::vector<Option> FamilyOptions(BuildFlags& flags, const FamilyHelp& help, std::vector<Option> own) {
  std::vector<Option> options = BuildOptions(flags, help.formats);
  options.insert(options.begin(), {.names = "INPUT", .help = help.input, .target = &flags.recipe.recipes});
  options.push_back({.names = "--layout",
                     .value = "NAME",
                     .help = "Use this RPATH layout for a repacked artifact",
                     .target = &flags.layout,
                     .choices = pipeline::LayoutNames(),
                     .default_text = "by its name"});
  std::move(own.begin(), own.end(), std::back_inserter(options));
  return options;
}

}  // namespace

Verb BuildVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<BuildFlags>();
  std::vector<Option> options = BuildOptions(
      *flags, {.help = "Make these: conda, tar.bz2, wheel, zip", .default_text = "the recipe's"});
  options.insert(
      options.begin(),
      {.names = "RECIPE", .help = "recipe.yaml or its directory", .target = &flags->recipe.recipes});
  options.push_back(FromEnvOption(flags->recipe.from_env));
  return {.name = "build",
          .summary = "Build every variant and format of a recipe",
          .known_as = {"make", "compile", "package", "install"},
          .options = std::move(options),
          .notes =
              "PATH of --source is a directory, an archive or a git repository "
              "(REPOSITORY@TAG, git+URL@TAG). The passphrase of --sign-key comes from "
              "PTPKG_SIGN_PASSPHRASE. A build with --no-cache cannot be resumed.",
          .examples = {"ptpkg build fixtures/toymagma fixtures/toytorch --output dist",
                       "ptpkg build recipes/pytorch --select python=3.11 --format wheel",
                       "ptpkg build recipes/pytorch --remote-cache s3://team-cache/ptpkg"},
          .run = [flags](Context& context) { return RunBuild(context, *flags); },
          .given = &flags->given};
}

Verb CondaVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<BuildFlags>();
  return {.name = "conda",
          .summary = "Build conda packages from a recipe, or convert a wheel",
          .options = FamilyOptions(
              *flags,
              {.input = "Recipe or .whl file",
               .formats = {.help = "Make these: conda, tar.bz2", .default_text = "conda,tar.bz2"}},
              {{.names = "--build-string",
                .value = "TEXT",
                .help = "Set the build string of a converted wheel",
                .target = &flags->build_string,
                .default_text = "derived, such as py311_0"},
               {.names = "--build-number",
                .value = "NUMBER",
                .help = "Set the build number of a converted wheel",
                .target = Number{.value = &flags->build_number},
                .default_text = "0"},
               {.names = "--python",
                .value = "LIST",
                .help = "Make a package for each of these Pythons: 3.11,3.12",
                .target = &flags->pythons,
                .default_text = "one for all"}}),
          .examples = {"ptpkg conda torch-2.15.0-cp311-cp311-manylinux_2_28_x86_64.whl --output dist"},
          .run = [flags](Context& context) { return RunFamily(context, *flags, true); },
          .given = &flags->given};
}

Verb WheelVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<BuildFlags>();
  return {.name = "wheel",
          .summary = "Build wheels from a recipe, or convert a conda package",
          .options = FamilyOptions(*flags,
                                   {.input = "Recipe, conda package, unpacked wheel or prefix",
                                    .formats = {.help = "Make these: wheel", .default_text = "wheel"}},
                                   {{.names = "--distribution",
                                     .value = "NAME",
                                     .help = "Take this Python distribution of the package or prefix",
                                     .target = &flags->distribution},
                                    {.names = "--compression",
                                     .help = "Set the effort; fast halves the time for 4 % more bytes",
                                     .target = &flags->compression,
                                     .choices = pipeline::CompressionNames(),
                                     .default_text = "default"},
                                    {.names = "--platform",
                                     .value = "TAG",
                                     .help = "Set the platform tag: auto (lowest manylinux), linux, TAG",
                                     .target = &flags->platform,
                                     .default_text = "the tag in WHEEL"}}),
          .examples = {"ptpkg wheel dist/conda/linux-64/pytorch-2.15.0-py3.11_cpu_0.conda",
                       "ptpkg wheel unpacked/torch-2.15.0 --compression fast --platform auto"},
          .run = [flags](Context& context) { return RunFamily(context, *flags, false); },
          .given = &flags->given};
}

}  // namespace ptpkg::cli
