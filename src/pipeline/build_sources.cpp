// What --source names, compared with the recipes. Layer: pipeline.

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "pipeline/build.h"
#include "source/override.h"
#include "source/prepare.h"
#include "support/text.h"

namespace ptpkg::pipeline {

namespace {

/// Whether --source `name` means the recipe or a staging output that it goes on from.
bool OverriddenIn(const recipe::Recipe& recipe, const std::string& name) {
  return source::OverrideApplies(recipe, name) ||
         (recipe.inherited != nullptr && OverriddenIn(*recipe.inherited, name));
}

}  // namespace

Result<void> CheckSources(const BuildRequest& request, const std::vector<recipe::Recipe>& recipes) {
  std::set<std::string> known;
  for (const recipe::Recipe& recipe : recipes)
    known.insert({recipe.name, recipe.recipe_name, std::string(recipe.recipe_dir.Name())});
  known.erase("");
  const std::vector<std::string> names(known.begin(), known.end());
  std::set<std::string> given;
  for (const auto& source : request.sources) given.insert(source.first);
  for (const auto& source : request.git_sources) given.insert(source.first);
  for (const std::string& name : given) {
    const bool applies = std::any_of(recipes.begin(), recipes.end(), [&](const recipe::Recipe& recipe) {
      return OverriddenIn(recipe, name);
    });
    if (applies) continue;
    Error error(ErrorCode::kUsage, fmt::format("--source '{}' names none of the recipes", name));
    if (const auto nearest = NearestMatch(name, names)) {
      return std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest));
    }
    return std::move(error).WithHint(fmt::format("the recipes are: {}", Join(names, ", ")));
  }
  return Ok();
}

Result<void> AddSource(Env& env, const std::string& name, const std::string& value, BuildRequest& request) {
  PTPKG_TRY(const source::Override taken, source::ParseOverride(env, value));
  request.sources.erase(name);
  request.git_sources.erase(name);
  if (const auto* git = std::get_if<recipe::GitSource>(&taken)) {
    request.git_sources.emplace(name, *git);
  } else {
    request.sources.emplace(name, std::get<AbsPath>(taken));
  }
  return Ok();
}

}  // namespace ptpkg::pipeline
