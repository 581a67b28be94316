// ptpkg render. Layer: cli. It shows the variants that a build would make, and reads nothing but recipes and
// variant files: no source, no tool, no server.

#include <fmt/core.h>
#include <memory>
#include <set>

#include "cli/verbs/recipe_flags.h"
#include "pipeline/commands/render.h"
#include "support/text/json.h"
#include "support/text/plural.h"

namespace ptpkg::cli {

namespace {

struct RenderFlags {
  std::vector<std::string> recipes;
  std::vector<std::string> variant_files;
  std::vector<std::string> select;
  bool from_env = false;
};

Result<ExitCode> RunRender(Context& context, const RenderFlags& flags) {
  pipeline::RenderRequest request;
  PTPKG_TRY(request.recipes, ResolveExisting(context, flags.recipes));
  PTPKG_TRY(request.variant_files, ResolveExisting(context, flags.variant_files));
  PTPKG_TRY(request.select, ParseSelect(flags.select));
  if (flags.from_env) {
    std::set<ArtifactFormat> formats;  // those of a build
    PTPKG_CHECK(TakeEnvironment(context, request, formats));
  }
  PTPKG_TRY(const std::vector<recipe::Recipe> recipes, pipeline::Render(context.env(), request));
  // After rendering, which is the only way to know the keys that the recipes read.
  PTPKG_CHECK(pipeline::RequireUsedSettings(request.settings, recipes));
  // A build asks the tools for these versions. This verb starts no program, so its names are not final.
  std::set<std::string> incomplete;
  for (const recipe::Recipe& recipe : recipes) {
    if (!recipe.detects.empty()) incomplete.insert(recipe.FileStem());
  }
  if (!incomplete.empty()) {
    const std::string others =
        incomplete.size() == 1 ? "" : fmt::format(" (and of {})", Plural(incomplete.size() - 1, "other"));
    context.env().reporter.Note(
        fmt::format("the build string of '{}'{} shows 0.0.0 for versions that 'ptpkg build' detects",
                    *incomplete.begin(), others));
  }
  if (context.json()) {
    context.PrintJson(pipeline::RecipesToJson(recipes));
    return kDone;
  }
  for (const recipe::Recipe& recipe : recipes) {
    std::string variant;
    for (const auto& [key, value] : recipe.variant) variant += fmt::format(" {}={}", key, value);
    context.Print(fmt::format("{}{}{}", recipe.FileStem(), recipe.skip ? " (skipped)" : "", variant));
  }
  return kDone;
}

}  // namespace

Verb RenderVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<RenderFlags>();
  return {.name = "render",
          .summary = "Show the variants of a recipe: names, build strings, hashes",
          .options = {{.names = "RECIPE", .help = "recipe.yaml or its directory", .target = &flags->recipes},
                      VariantsOption(flags->variant_files),
                      SelectOption(flags->select, "Show only variants with this value; may be repeated"),
                      FromEnvOption(flags->from_env)},
          .examples = {"ptpkg render fixtures/toytorch --select toy_backend=cpu"},
          .run = [flags](Context& context) { return RunRender(context, *flags); }};
}

}  // namespace ptpkg::cli
