// ptpkg render. Layer: cli.

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>

#include "cli/verbs.h"
#include "pipeline/render.h"

namespace ptpkg::cli {

namespace {

struct RenderFlags {
  std::vector<std::string> recipes;
  std::vector<std::string> variant_files;
  std::vector<std::string> select;
};

Result<ExitCode> RunRender(Context& context, const RenderFlags& flags) {
  pipeline::RenderRequest request;
  for (const std::string& recipe : flags.recipes) {
    PTPKG_TRY(AbsPath path, context.Path(recipe));
    request.recipes.push_back(std::move(path));
  }
  for (const std::string& file : flags.variant_files) {
    PTPKG_TRY(AbsPath path, context.Path(file));
    request.variant_files.push_back(std::move(path));
  }
  PTPKG_TRY(request.select, ParseSelect(flags.select));
  PTPKG_TRY(const std::vector<recipe::Recipe> recipes, pipeline::Render(context.env(), request));
  if (context.json()) {
    PrintResult(pipeline::RecipesToJson(recipes).dump(2));
    return kDone;
  }
  for (const recipe::Recipe& recipe : recipes) {
    std::string variant;
    for (const auto& [key, value] : recipe.variant) variant += fmt::format(" {}={}", key, value);
    PrintResult(fmt::format("{}{}{}", recipe.FileStem(), recipe.skip ? " (skipped)" : "", variant));
  }
  return kDone;
}

}  // namespace

void AddRenderVerb(CLI::App& app, Action& action) {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<RenderFlags>();
  CLI::App* verb =
      app.add_subcommand("render", "Show what a recipe evaluates to: names, build strings, hashes");
  verb->add_option("RECIPE", flags->recipes, "recipe.yaml, or the folder that holds it")->required();
  verb->add_option("--variants", flags->variant_files, "Variant file; later ones win per key")
      ->type_name("FILE")
      ->allow_extra_args(false);
  verb->add_option("--select", flags->select, "Only variants with this value; repeat for more")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  verb->footer(
      "Flags of every verb: see ptpkg --help\n\nExample:\n  ptpkg render fixtures/toytorch --select "
      "toy_backend=cpu");
  verb->callback(
      [&action, flags] { action = [flags](Context& context) { return RunRender(context, *flags); }; });
}

}  // namespace ptpkg::cli
