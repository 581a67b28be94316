// `ptpkg dev` and `ptpkg shell` work on one native build. A recipe with outputs or variants has several, and
// then the user has to choose. The error lists them with a selection to paste. Staging outputs can be chosen
// as well, and each counts once, although several outputs inherit it.

#include "pipeline/develop/native_choice.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "pipeline/commands/render.h"
#include "pipeline/stages/detect.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

/// Outputs that are not skipped, and the staging outputs that they inherit, each once.
std::vector<recipe::Recipe> Natives(const std::vector<recipe::Recipe>& rendered) {
  std::vector<recipe::Recipe> natives;
  std::set<std::string> seen;
  for (const recipe::Recipe& recipe : rendered) {
    if (recipe.skip) continue;
    for (const recipe::Recipe* part = &recipe; part != nullptr; part = part->inherited.get()) {
      if (seen.insert(part->FileStem()).second) natives.push_back(*part);
    }
  }
  return natives;
}

std::vector<std::string> NamesOf(const std::vector<recipe::Recipe>& recipes) {
  std::vector<std::string> names;
  for (const recipe::Recipe& recipe : recipes) {
    if (std::find(names.begin(), names.end(), recipe.name) == names.end()) names.push_back(recipe.name);
  }
  return names;
}

/// "--select python=3.11" for the first value in which `one` differs from another of `recipes`.
std::string SelectionOf(const recipe::Recipe& one, const std::vector<recipe::Recipe>& recipes) {
  for (const auto& [key, value] : one.variant) {
    for (const recipe::Recipe& other : recipes) {
      const auto found = other.variant.find(key);
      if (found == other.variant.end() || found->second != value)
        return fmt::format("--select {}={}", key, value);
    }
  }
  return "--select KEY=VALUE";
}

Error SeveralOutputs(const std::vector<recipe::Recipe>& natives) {
  const std::vector<std::string> names = NamesOf(natives);
  return Error(ErrorCode::kUsage,
               fmt::format("this command works on one native build, but the recipe has {}: {}", names.size(),
                           Join(names, ", ")))
      .WithHint(fmt::format("choose one: --name {}", names.front()));
}

Error SeveralVariants(const std::vector<recipe::Recipe>& natives) {
  std::string list;
  for (const recipe::Recipe& recipe : natives) {
    list +=
        fmt::format("{}{} ({})", list.empty() ? "" : ", ", recipe.FileStem(), SelectionOf(recipe, natives));
  }
  return Error(ErrorCode::kUsage, fmt::format("this command works on one variant, but '{}' has {}: {}",
                                              natives.front().name, natives.size(), list))
      .WithHint(fmt::format("choose one: {}", SelectionOf(natives.front(), natives)));
}

}  // namespace

Result<NativeChoice> ChooseNative(Env& env, const NativeRequest& request) {
  PTPKG_TRY(std::vector<recipe::Recipe> rendered, Render(env, {.recipes = request.build.recipes,
                                                               .variant_files = request.build.variant_files,
                                                               .select = request.build.select}));
  PTPKG_CHECK(DetectInBuildStrings(env, request.build, rendered));
  std::vector<recipe::Recipe> natives = Natives(rendered);
  if (natives.empty()) {
    return Error(ErrorCode::kInvalidInput, "the recipe skips every selected variant")
        .WithHint("list the variants with 'ptpkg render'; choose another with --select");
  }
  if (!request.name.empty()) {
    const std::vector<std::string> names = NamesOf(natives);
    std::erase_if(natives, [&](const recipe::Recipe& recipe) { return recipe.name != request.name; });
    if (natives.empty()) {
      return Error(ErrorCode::kUsage, fmt::format("the recipe has no output '{}'", request.name))
          .WithHint(fmt::format("it has {}", Join(names, ", ")));
    }
  }
  if (NamesOf(natives).size() > 1) return SeveralOutputs(natives);
  if (natives.size() > 1) return SeveralVariants(natives);
  return NativeChoice{.recipe = std::move(natives.front()), .rendered = std::move(rendered)};
}

}  // namespace ptpkg::pipeline
