#include "pipeline/render.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>
#include <set>

#include "support/display_text.h"
#include "support/json.h"
#include "support/secret.h"
#include "support/shared_variables.h"
#include "variant/render.h"
#include "variant/render_json.h"
#include "wheel/requirement.h"

namespace ptpkg::pipeline {

namespace {

/// A folder stands for the recipe.yaml in it.
Result<AbsPath> RecipeFile(Env& env, const AbsPath& path) {
  PTPKG_TRY(const FileStat stat, env.fs.Stat(path));
  if (stat.kind != FileKind::kDirectory) return path;
  const AbsPath file = path / "recipe.yaml";
  PTPKG_TRY(const bool there, Exists(env.fs, file));
  PTPKG_TRY(const bool older, Exists(env.fs, path / "meta.yaml"));
  if (!there && older) return path / "meta.yaml";  // refused by that name, with what to do
  if (!there) {
    return Error(ErrorCode::kNotFound, fmt::format("'{}' holds no recipe.yaml", path.str()))
        .WithHint("a recipe is a file recipe.yaml in a folder of its own");
  }
  return file;
}

Result<void> CheckWheelRequirement(const std::string& text) {
  const Result<wheel::Requirement> parsed = wheel::ParseRequirement(text);
  return parsed ? Ok() : Result<void>(parsed.error());
}

/// Adds what it tells to `told`.
void WarnOfCredentials(Env& env, const recipe::Source& source, std::set<std::string>& told) {
  std::vector<std::string> urls = source.urls;
  urls.push_back(source.git.url);
  for (const std::string& url : urls) {
    if (CredentialsIn(url).empty() || !told.insert(url).second) continue;
    RememberSecretsOf(url);
    env.reporter.Warn(
        fmt::format("the source '{}' has a password or a token in its URL, which the recipe in packages "
                    "loses: leave it out{}",
                    MaskCredentials(url), url == source.git.url ? ", git asks the credential helper" : ""));
  }
}

}  // namespace

Result<std::vector<recipe::Recipe>> Render(Env& env, const RenderRequest& request) {
  std::vector<recipe::Recipe> all;
  for (const AbsPath& path : request.recipes) {
    PTPKG_TRY(const AbsPath file, RecipeFile(env, path));
    PTPKG_TRY(std::vector<recipe::Recipe> recipes,
              variant::Render(env.fs, file,
                              {.variant_files = request.variant_files,
                               .select = request.select,
                               .variables = SharedVariables(env),
                               .check_wheel_requirement = CheckWheelRequirement,
                               .detected = request.detected}));
    std::move(recipes.begin(), recipes.end(), std::back_inserter(all));
  }
  return all;
}

void TellWhatIsHardlyMeant(Env& env, const RenderRequest& request,
                           const std::vector<recipe::Recipe>& rendered) {
  for (const AbsPath& path : request.recipes) {
    const bool any = std::any_of(rendered.begin(), rendered.end(), [&](const recipe::Recipe& recipe) {
      return recipe.recipe_file == path || recipe.recipe_dir == path;
    });
    if (!any && request.select.empty()) {
      env.reporter.Warn(fmt::format(
          "'{}' makes no package: it has staging outputs alone, which nothing inherits", path.str()));
    }
  }
  std::set<std::string> told;
  for (const recipe::Recipe& recipe : rendered) {
    for (const recipe::Recipe* part = &recipe; part != nullptr; part = part->inherited.get()) {
      for (const recipe::Source& source : part->sources) WarnOfCredentials(env, source, told);
    }
  }
}

Json RecipesToJson(const std::vector<recipe::Recipe>& recipes) {
  Json list = Json::array();
  for (const recipe::Recipe& recipe : recipes) list.push_back(variant::RenderedToJson(recipe));
  return list;
}

}  // namespace ptpkg::pipeline
