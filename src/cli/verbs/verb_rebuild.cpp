// ptpkg rebuild. Layer: cli. It has the build options that say where this machine keeps sources and tools.
// All others would change the package, so their values come from the package itself (docs/cli/rebuild.md).

#include <fmt/core.h>
#include <memory>
#include <optional>

#include "cli/output/inspect_text.h"
#include "cli/verbs/recipe_flags.h"
#include "pipeline/commands/rebuild.h"
#include "support/text/json.h"

namespace ptpkg::cli {

namespace {

struct RebuildFlags {
  RecipeFlags recipe;
  std::string artifact;
  std::optional<std::string> package;
  std::optional<std::string> channel;
  std::optional<std::string> output;
  std::uint64_t rows = 10;
};

Json RebuildToJson(const pipeline::RebuildRequest& request, const pipeline::RebuildOutcome& outcome) {
  return {{"artifact", request.artifact.str()},
          {"identical", outcome.identical},
          {"sha256", outcome.sha256},
          {"rebuilt_sha256", outcome.rebuilt_sha256},
          {"rebuilt", outcome.rebuilt ? Json(outcome.rebuilt->str()) : Json(nullptr)},
          {"difference", outcome.identical ? Json(nullptr) : *outcome.difference}};
}

Result<ExitCode> RunRebuild(Context& context, const RebuildFlags& flags) {
  pipeline::RebuildRequest request;
  PTPKG_TRY(request.build, RequestOf(context, flags.recipe));
  PTPKG_TRY(request.artifact, ResolveInput(context, flags.artifact));
  // A wheel does not hold its recipe: it would change with each build number. The conda package of the same
  // build does.
  PTPKG_TRY(request.recipe, ResolveFile(context, flags.package));
  if (flags.channel) {
    // A build that used no package reads no channel, and a misspelt one would go unnoticed.
    PTPKG_TRY(request.channel, ResolveInput(context, *flags.channel));
  }
  PTPKG_TRY(request.output, ResolveFile(context, flags.output));
  PTPKG_TRY(const pipeline::RebuildOutcome outcome, pipeline::Rebuild(context.env(), request));
  // A difference is the result of this verb, not an error: the rebuild itself went well.
  const ExitCode code = outcome.identical ? kDone : kCheckFound;
  if (context.json()) {
    context.PrintJson(RebuildToJson(request, outcome));
    return code;
  }
  if (outcome.identical) {
    context.Print(
        fmt::format("identical: {} sha256:{}", context.Shown(request.artifact.str()), outcome.sha256));
  } else {
    for (const std::string& line : DiffLines(*outcome.difference, {.rows = flags.rows})) context.Print(line);
    context.Print(fmt::format("different: {} sha256:{}, rebuilt sha256:{}",
                              context.Shown(request.artifact.str()), outcome.sha256, outcome.rebuilt_sha256));
  }
  // Without --output the rebuilt artifact is gone by now, and only its digest remains.
  if (outcome.rebuilt) context.Print(outcome.rebuilt->str());
  return code;
}

/// Those of a build that a rebuild does not take from the package.
std::vector<Option> BuildOptionsOf(RecipeFlags& flags) {
  std::vector<Option> options = RecipeOptions(flags, "");
  std::erase_if(options, [](const Option& option) {
    // The package holds its variant, and the rebuild goes to a directory of its own.
    return option.names == "--variants" || option.names == "--select" || option.names == "-o,--output";
  });
  return options;
}

}  // namespace

Verb RebuildVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<RebuildFlags>();
  std::vector<Option> options = {
      {.names = "ARTIFACT", .help = "Conda package or wheel that ptpkg built", .target = &flags->artifact},
      {.names = "--recipe",
       .value = "FILE",
       .help = "Take a wheel's recipe from this conda package",
       .target = &flags->package},
      {.names = "--channel",
       .value = "DIR",
       .help = "Take packages that the build used from this channel",
       .target = &flags->channel,
       .default_text = "the package's own"},
      {.names = "-o,--output",
       .value = "DIR",
       .help = "Keep the rebuilt artifact and the log in DIR",
       .target = &flags->output},
      {.names = "--rows",
       .value = "NUMBER",
       .help = "Show this many rows of each list",
       .target = Number{.value = &flags->rows, .least = 1},
       .default_text = "10"}};
  for (Option& option : BuildOptionsOf(flags->recipe)) options.push_back(std::move(option));
  return {.name = "rebuild",
          .summary = "Build a finished package again, and compare the bytes",
          .known_as = {"reproduce", "verify-build"},
          .options = std::move(options),
          .notes =
              "Recipe, variant, time stamp, digests of sources and tools, and wheels of the Python "
              "index come from the package. Local sources come from --source. Tests don't run. Exit "
              "codes: 0 identical, 1 different, 3 the artifact cannot be rebuilt, 4 a source, package "
              "or tool is missing or differs.",
          .examples = {"ptpkg rebuild toy-1.0-0.conda --source toy=src/toy",
                       "ptpkg rebuild torch-2.15.0-*.whl --recipe pytorch-2.15.0-py3.11_cpu_0.conda"},
          .run = [flags](Context& context) { return RunRebuild(context, *flags); }};
}

}  // namespace ptpkg::cli
