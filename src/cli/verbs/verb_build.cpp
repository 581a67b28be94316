// ptpkg build, conda and wheel. Layer: cli.

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
  RecipeFlags recipe;  ///< Of conda and wheel, `recipe.recipes` may be one artifact.
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
  bool ccache = false;
  bool dry_run = false;
  bool plan = false;
  bool no_preflight = false;
  std::optional<std::string> sign_key;
  std::string test = "run";
  std::string compression = "default";  ///< Of wheels.
  std::string platform;                 ///< Of wheels.
  std::set<std::string> given;          ///< Long names of the options that the line has.
};

Result<pipeline::BuildRequest> MakeBuildRequest(Context& context, const BuildFlags& flags) {
  PTPKG_TRY(pipeline::BuildRequest request, RequestOf(context, flags.recipe));
  PTPKG_TRY(request.formats, ParseFormats(flags.formats));
  request.force = flags.force;
  request.keep_work = flags.keep_work;
  request.fresh = flags.fresh;
  request.refresh = flags.refresh;
  request.ccache = flags.ccache || context.IsSet("PTPKG_CCACHE");
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
    context.env().reporter.Note(fmt::format("'{}' is skipped: its recipe says so for this variant", skipped));
  }
  PrintFindings(context, summary.reports);
  for (const ArtifactRecord& record : summary.artifacts) context.Print(output.str() + "/" + record.path);
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
    context.SetErrorDetails(document);
    return Error(*summary.failure);
  }
  if (context.json()) context.PrintJson(document);
  return CodeOfIndex(summary.left_out.size());
}

/// `--plan`: the nodes and what would become of each, or with --json all that another executor needs.
Result<ExitCode> PrintPlan(Context& context, const graph::Plan& plan, const AbsPath& output) {
  if (context.json()) {
    const Json document = graph::PlanToJson(plan);
    PTPKG_CHECK(CheckUtf8(document, "the plan"));
    context.PrintJson(document);
    return kDone;
  }
  PTPKG_TRY(const std::vector<std::string> lines, pipeline::DescribePlan(context.env(), plan, output));
  for (const std::string& line : lines) context.Print(line);
  return kDone;
}

/// Who asks for a build from the beginning may expect that one runs.
void NoteStoredResult(Context& context, const pipeline::BuildSummary& summary) {
  for (const StageTime& stage : summary.stages) {
    if (stage.stage != "build" || stage.ran) continue;
    context.env().reporter.Note(fmt::format(
        "--fresh: '{}' was not built, its result is stored; --refresh builds it again", stage.subject));
  }
}

Result<ExitCode> RunBuild(Context& context, const BuildFlags& flags) {
  PTPKG_TRY(const pipeline::BuildRequest request, MakeBuildRequest(context, flags));
  if (flags.plan) {
    PTPKG_TRY(const pipeline::BuildPlan planned, pipeline::PlanBuild(context.env(), request));
    if (!context.json()) {
      for (const std::string& line : planned.tools) context.Log(line);
    }
    return PrintPlan(context, planned.plan, request.output);
  }
  PTPKG_TRY(const pipeline::BuildSummary summary, pipeline::Build(context.env(), request));
  if (flags.fresh && !flags.dry_run && !summary.failure) NoteStoredResult(context, summary);
  return Finish(context, summary, request.output, flags, SummaryToJson(summary, request.output));
}

Result<ExitCode> RunRepack(Context& context, const BuildFlags& flags) {
  if (flags.recipe.recipes.size() != 1) return Error(ErrorCode::kUsage, "give one artifact at a time");
  pipeline::RepackRequest request;
  PTPKG_TRY(request.input, context.Path(flags.recipe.recipes.front()));
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
  request.keep_work = flags.keep_work;
  request.dry_run = flags.dry_run;
  PTPKG_TRY(request.wheel_form, pipeline::ParseWheelForm(flags.compression, flags.platform));
  PTPKG_TRY(request.sign_key, ResolveFile(context, flags.sign_key));
  if (flags.plan) {
    PTPKG_TRY(const graph::Plan plan, pipeline::PlanRepack(context.env(), request));
    return PrintPlan(context, plan, request.output);
  }
  PTPKG_TRY(const pipeline::BuildSummary summary, pipeline::Repack(context.env(), request));
  for (const std::string& unknown : summary.unknown_requirements) {
    context.env().reporter.Warn(
        fmt::format("requirement '{}' is not in the table of conda names: kept under its own name", unknown));
  }
  Json document = SummaryToJson(summary, request.output);
  document["unknown_requirements"] = summary.unknown_requirements;
  return Finish(context, summary, request.output, flags, document);
}

bool IsPackage(const std::string& path) { return path.ends_with(".conda") || path.ends_with(".tar.bz2"); }

// Options of `conda X` and `wheel X` that mean nothing when X is an artifact, and when X is a recipe.
constexpr std::array<std::string_view, 13> kOfRecipes = {
    "--variants", "--select", "--source",  "--env",     "--python-exe",   "--conda-exe", "--cuda-home",
    "--test",     "--fresh",  "--refresh", "--offline", "--no-preflight", "--ccache"};
constexpr std::array<std::string_view, 5> kOfArtifacts = {"--layout", "--build-string", "--build-number",
                                                          "--python", "--distribution"};

/// An option that is silently dropped makes another package than was asked for.
Result<void> RefuseOptions(const BuildFlags& flags, std::span<const std::string_view> useless, bool repack) {
  for (const std::string_view name : useless) {
    if (!flags.given.contains(std::string(name))) continue;
    const std::string& input = flags.recipe.recipes.front();
    if (repack) {
      return Error(ErrorCode::kUsage,
                   fmt::format("'{}' is for recipes, and '{}' is a finished package", name, input))
          .WithHint("leave it out: a package is repacked as it is");
    }
    return Error(ErrorCode::kUsage,
                 fmt::format("'{}' is for a package that is repacked, and '{}' is a recipe", name, input))
        .WithHint("leave it out: the recipe and its variants say what is built");
  }
  return Ok();
}

/// A zip is of neither family.
bool IsOfFamily(ArtifactFormat format, bool conda) {
  if (format == ArtifactFormat::kWheel) return !conda;
  return conda && format != ArtifactFormat::kZip;
}

/// As of a package that is repacked: `ptpkg conda` never makes a wheel.
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
  const std::string& first = flags.recipe.recipes.front();
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
    return Error(ErrorCode::kUsage, fmt::format("'{}' is of this family already", first))
        .WithHint("'ptpkg conda' takes a recipe or a wheel, 'ptpkg wheel' a recipe or a conda package");
  }
  if (first.ends_with(ArtifactExtension(ArtifactFormat::kZip))) {
    return Error(ErrorCode::kUsage,
                 fmt::format("no {} can be made of '{}'", conda ? "conda package" : "wheel", first))
        .WithHint("a zip says nothing of its name, version and requirements: give the recipe that made it");
  }
  PTPKG_CHECK(RefuseOptions(flags, kOfArtifacts, false));
  PTPKG_CHECK(RefuseOtherFamily(flags, conda));
  if (flags.formats.empty()) {
    flags.formats = conda ? std::vector<std::string>{"conda", "tar.bz2"} : std::vector<std::string>{"wheel"};
  }
  return RunBuild(context, flags);
}

/// `formats`: help of --format.
std::vector<Option> BuildOptions(BuildFlags& flags, const char* formats) {
  std::vector<Option> options =
      RecipeOptions(flags.recipe, "Output folder: channel, wheels, zips, logs, manifest (default: dist)");
  std::vector<Option> own = {
      {.names = "--format", .value = "LIST", .help = formats, .target = &flags.formats},
      {.names = "--explain", .help = "Say why each stage ran or did not", .target = &flags.explain},
      {.names = "--keep-work", .help = "Keep the work folders", .target = &flags.keep_work},
      {.names = "--fresh",
       .help =
           "Build from the beginning where an interrupted run could be gone on with; a build whose result "
           "is stored does not run again",
       .target = &flags.fresh},
      {.names = "--refresh",
       .help = "Build again what is stored, and pack, check and publish the result in its place",
       .target = &flags.refresh},
      {.names = "--ccache",
       .help = "Keep C, C++ and CUDA objects in the cache, and take them from there (default: PTPKG_CCACHE)",
       .target = &flags.ccache},
      {.names = "--no-preflight",
       .help = "Start builds without looking for what 'ptpkg doctor' knows to break them",
       .target = &flags.no_preflight},
      {.names = "--force",
       .help = "Replace artifacts in the output folder that ptpkg did not make",
       .target = &flags.force},
      {.names = "--dry-run", .help = "Say which stages would run; write nothing", .target = &flags.dry_run},
      {.names = "--plan",
       .help = "Print the plan and run nothing; with --json complete, for 'ptpkg run-node'",
       .target = &flags.plan},
      {.names = "--sign-key",
       .value = "FILE",
       .help = "Private key in PEM: beside each artifact come a signed statement of how it was made, and a "
               "signature (its passphrase: PTPKG_SIGN_PASSPHRASE)",
       .target = &flags.sign_key},
      {.names = "--test",
       .help = "Run the recipes' tests on the packages, or skip them (default: run)",
       .target = &flags.test,
       .choices = {"run", "skip"}},
  };
  std::move(own.begin(), own.end(), std::back_inserter(options));
  return options;
}

struct FamilyHelp {
  const char* input;
  const char* formats;
};

/// Options of `conda X` and `wheel X`: those of build, one for the layout, and `own`.
std::vector<Option> FamilyOptions(BuildFlags& flags, const FamilyHelp& help, std::vector<Option> own) {
  std::vector<Option> options = BuildOptions(flags, help.formats);
  options.insert(options.begin(), {.names = "INPUT", .help = help.input, .target = &flags.recipe.recipes});
  options.push_back({.names = "--layout",
                     .value = "NAME",
                     .help = "Built-in search-path layout for a repacked artifact (default: by its name)",
                     .target = &flags.layout,
                     .choices = pipeline::LayoutNames()});
  std::move(own.begin(), own.end(), std::back_inserter(options));
  for (Option& option : options) option.given = &flags.given;
  return options;
}

}  // namespace

Verb BuildVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<BuildFlags>();
  std::vector<Option> options = BuildOptions(
      *flags, "conda, tar.bz2, wheel, zip, separated by commas (default: what the recipe names)");
  options.insert(options.begin(),
                 {.names = "RECIPE", .help = "recipe.yaml, or its folder", .target = &flags->recipe.recipes});
  return {.name = "build",
          .summary = "Build a recipe: every variant, every format it names",
          .known_as = {"make", "compile", "package", "install"},
          .options = std::move(options),
          .examples = {"ptpkg build fixtures/toymagma fixtures/toytorch --output dist"},
          .run = [flags](Context& context) { return RunBuild(context, *flags); }};
}

Verb CondaVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<BuildFlags>();
  return {.name = "conda",
          .summary = "Make conda packages of a recipe or of a wheel",
          .options = FamilyOptions(
              *flags,
              {.input = "recipe, or .whl file",
               .formats = "conda, tar.bz2, separated by commas (default: conda,tar.bz2)"},
              {{.names = "--build-string",
                .value = "TEXT",
                .help = "Build string for a repacked wheel (default: derived, such as py311_0)",
                .target = &flags->build_string},
               {.names = "--build-number",
                .value = "NUMBER",
                .help = "Build number for a repacked wheel (default: 0)",
                .target = Number{.value = &flags->build_number}},
               {.names = "--python",
                .value = "LIST",
                .help = "Of a wheel that fits several Pythons, a package for each of these, as in "
                        "3.11,3.12 (default: one for all of them)",
                .target = &flags->pythons}}),
          .examples = {"ptpkg conda torch-2.15.0-cp311-cp311-manylinux_2_28_x86_64.whl --output dist"},
          .run = [flags](Context& context) { return RunFamily(context, *flags, true); }};
}

Verb WheelVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<BuildFlags>();
  return {
      .name = "wheel",
      .summary = "Make wheels of a recipe, a conda package or a folder",
      .options = FamilyOptions(
          *flags,
          {.input = "recipe; .conda or .tar.bz2 file; unpacked wheel, or prefix with a distribution",
           .formats = "wheel (default: wheel)"},
          {{.names = "--distribution",
            .value = "NAME",
            .help = "Which Python distribution of the package or prefix to take",
            .target = &flags->distribution},
           {.names = "--compression",
            .help = "How hard to compress (default: default); fast takes half the time for 4 % more bytes",
            .target = &flags->compression,
            .choices = pipeline::CompressionNames()},
           {.names = "--platform",
            .value = "TAG",
            .help = "Platform tag: auto (lowest manylinux that the files deserve), linux, or one that they "
                    "have to deserve (default: what WHEEL says)",
            .target = &flags->platform}}),
      .examples = {"ptpkg wheel dist/conda/linux-64/pytorch-2.15.0-py3.11_cpu_0.conda",
                   "ptpkg wheel unpacked/torch-2.15.0 --compression fast --platform auto"},
      .run = [flags](Context& context) { return RunFamily(context, *flags, false); }};
}

Verb RunNodeVerb() {
  struct Flags {
    std::string plan;
    std::string node;
    bool offline = false;
  };
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<Flags>();
  return {.name = "run-node",
          .summary = "Run one node of a plan, for example as a job of a cluster",
          .options = {{.names = "PLAN",
                       .help = "What 'ptpkg build … --plan --json' printed",
                       .target = &flags->plan,
                       .words = 1},
                      {.names = "ID", .help = "The node: an 'id' of the plan", .target = &flags->node},
                      {.names = "--offline",
                       .help = "Ask no server: what the cache lacks is an error (default: PTPKG_OFFLINE)",
                       .target = &flags->offline}},
          .examples = {"ptpkg build fixtures/toymagma --plan --json > plan.json",
                       "ptpkg run-node plan.json build/toymagma-cpu-2.9.0-1"},
          .run = [flags](Context& context) -> Result<ExitCode> {
            PTPKG_TRY(const AbsPath file, context.Path(flags->plan));
            if (flags->offline) context.env().offline = true;
            PTPKG_TRY(const pipeline::BuildSummary summary,
                      pipeline::RunNode(context.env(), file, flags->node));
            Json stages = Json::array();
            for (const StageTime& stage : summary.stages) stages.push_back(StageTimeToJson(stage));
            if (context.json()) {
              context.PrintJson({{"stages", stages}, {"findings", FindingsToJson(summary.reports)}});
            } else {
              PrintFindings(context, summary.reports);
              for (const StageTime& stage : summary.stages) {
                context.Print(
                    fmt::format("{}/{}: {}", stage.stage, stage.subject, stage.ran ? "ran" : "was there"));
              }
            }
            return kDone;
          }};
}

}  // namespace ptpkg::cli
