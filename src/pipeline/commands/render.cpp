// Renders recipes, and reports likely mistakes that are not errors.
//
// A variant key that no recipe reads has no effect. Usually it is meant for other recipes that share the
// file, so only a key that differs by one typing error from a used one is reported. Used keys include
// requirements of build and host, because a bare requirement takes its version from a key of its name.
//
// URLs with a password or token get one warning each, and their secrets are masked in everything printed
// later.

#include "pipeline/commands/render.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>
#include <set>

#include "support/process/shared_variables.h"
#include "support/secret.h"
#include "support/text/display_text.h"
#include "support/text/json.h"
#include "support/text/text.h"
#include "variant/from_env.h"
#include "variant/render_json.h"
#include "variant/render_variants.h"
#include "wheel/metadata/requirement.h"

namespace ptpkg::pipeline {

namespace {

/// A directory stands for the recipe.yaml in it.
Result<AbsPath> RecipeFile(Env& env, const AbsPath& path) {
  PTPKG_TRY(const FileStat stat, env.fs.Stat(path));
  if (stat.kind != FileKind::kDirectory) return path;
  const AbsPath file = path / "recipe.yaml";
  PTPKG_TRY(const bool there, Exists(env.fs, file));
  PTPKG_TRY(const bool older, Exists(env.fs, path / "meta.yaml"));
  if (!there && older) return path / "meta.yaml";  // refused by that name, with a hint
  if (!there) {
    return Error(ErrorCode::kNotFound, fmt::format("'{}' has no recipe.yaml", path.str()))
        .WithHint("give a recipe.yaml, or the directory that contains it");
  }
  return file;
}

Result<void> CheckWheelRequirement(const std::string& text) {
  const Result<wheel::Requirement> parsed = wheel::ParseRequirement(text);
  return parsed ? Ok() : Result<void>(parsed.error());
}

/// True the first time for a URL that holds a password or a token: it joins `told`, and its secrets are
/// masked from now on.
bool ShowsSecret(const std::string& url, std::set<std::string>& told) {
  if (CredentialsIn(url).empty() || !told.insert(url).second) return false;
  RememberSecretsOf(url);
  return true;
}

void WarnOfCredentials(Env& env, const recipe::Source& source, std::set<std::string>& told) {
  std::vector<std::string> urls = source.urls;
  urls.push_back(source.git.url);
  for (const std::string& url : urls) {
    if (!ShowsSecret(url, told)) continue;
    env.reporter.Warn(
        fmt::format("the source '{}' has a password or token in its URL, which ptpkg removes from packages: "
                    "remove it from the recipe{}",
                    MaskCredentials(url), url == source.git.url ? "; git uses its credential helper" : ""));
  }
}

void WarnOfCredentials(Env& env, const recipe::About& about, std::set<std::string>& told) {
  for (const std::string& url : {about.homepage, about.repository, about.documentation}) {
    if (!ShowsSecret(url, told)) continue;
    env.reporter.Warn(
        fmt::format("the URL '{}' under 'about' has a password or token, which ptpkg removes from packages: "
                    "remove it from the recipe",
                    MaskCredentials(url)));
  }
}

/// Variant keys that the recipes read.
std::set<std::string> UsedKeys(const std::vector<recipe::Recipe>& rendered) {
  std::set<std::string> used;
  for (const recipe::Recipe& recipe : rendered) {
    for (const recipe::Recipe* part = &recipe; part != nullptr; part = part->inherited.get()) {
      for (const auto& [key, value] : part->variant) used.insert(key);
      for (const auto* specs : {&part->requirements.build, &part->requirements.host}) {
        for (const auto& spec : *specs) used.insert(ReplaceAll(spec.name, "-", "_"));
      }
    }
  }
  return used;
}

/// One letter more, less, another, or two in each other's place.
bool IsSingleTypo(std::string_view a, std::string_view b) {
  const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  a.remove_prefix(static_cast<std::size_t>(left - a.begin()));
  b.remove_prefix(static_cast<std::size_t>(right - b.begin()));
  if (a.empty() || b.empty()) return a.size() + b.size() == 1;
  const bool swapped =
      a.size() > 1 && b.size() > 1 && a[0] == b[1] && a[1] == b[0] && a.substr(2) == b.substr(2);
  return swapped || a.substr(1) == b.substr(1) || a.substr(1) == b || a == b.substr(1);
}

/// A key that no recipe reads has no effect, and may be meant for other recipes. Only slips are reported.
void WarnOfMisspeltKeys(Env& env, const RenderRequest& request, const std::vector<recipe::Recipe>& rendered) {
  variant::RenderOptions options;
  options.variant_files = request.variant_files;
  const std::set<std::string> used = UsedKeys(rendered);
  std::set<std::string> told;
  for (const AbsPath& path : request.recipes) {
    const auto file = RecipeFile(env, path);
    if (!file) continue;  // refused when it was rendered
    const auto keys = variant::VariantKeys(env.fs, *file, options);
    if (!keys) continue;
    for (const std::string& key : *keys) {
      if (used.contains(key) || !told.insert(key).second) continue;
      const auto meant = std::find_if(used.begin(), used.end(),
                                      [&](const std::string& one) { return IsSingleTypo(key, one); });
      if (meant == used.end()) continue;
      env.reporter.Warn(fmt::format("no recipe uses the variant key '{}'; did you mean '{}'?", key, *meant));
    }
  }
}

}  // namespace

Result<std::vector<std::string>> ApplyEnvironment(Env& env, RenderRequest& request,
                                                  std::set<ArtifactFormat>& formats) {
  PTPKG_TRY(variant::EnvironmentChoices choices,
            variant::ReadEnvironment(env, {.recipes = request.recipes,
                                           .variant_files = request.variant_files,
                                           .has_formats = !formats.empty()}));
  request.recipes = std::move(choices.recipes);
  request.variant_files = std::move(choices.variant_files);
  request.settings = std::move(choices.settings);
  if (!choices.format.empty()) {
    const auto format = ParseArtifactFormat(choices.format);
    if (!format) {
      return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a package format", choices.format))
          .WithHint("a rule of from_env.yaml can set format to conda, tar.bz2, wheel or zip");
    }
    formats.insert(*format);
  }
  if (choices.jobs > 0) {
    env.jobs = env.jobs_of_run = choices.jobs;
    env.jobs_given = true;
  }
  return choices.lines;
}

Result<std::vector<recipe::Recipe>> Render(Env& env, const RenderRequest& request) {
  std::vector<recipe::Recipe> all;
  for (const AbsPath& path : request.recipes) {
    PTPKG_TRY(const AbsPath file, RecipeFile(env, path));
    PTPKG_TRY(std::vector<recipe::Recipe> recipes,
              variant::Render(env.fs, file,
                              {.variant_files = request.variant_files,
                               .select = request.select,
                               .settings = request.settings,
                               .variables = SharedVariables(env),
                               .check_wheel_requirement = CheckWheelRequirement,
                               .detected = request.detected}));
    std::move(recipes.begin(), recipes.end(), std::back_inserter(all));
  }
  return all;
}

Result<void> RequireUsedSettings(const variant::KeySettings& settings,
                                 const std::vector<recipe::Recipe>& rendered) {
  const std::set<std::string> used = UsedKeys(rendered);
  std::map<std::string, std::vector<std::string>> keys_of;
  std::set<std::string> useful;
  for (const auto& [key, setting] : settings) {
    for (const std::string& origin : setting.origins) {
      keys_of[origin].push_back("'" + key + "'");
      if (used.contains(key)) useful.insert(origin);
    }
  }
  for (const auto& [origin, keys] : keys_of) {
    if (useful.contains(origin) || rendered.empty()) continue;
    return Error(ErrorCode::kUsage,
                 fmt::format("{} sets {}, but the recipe does not use it", origin, Join(keys, ", ")))
        .WithHint(fmt::format("unset {}", origin.substr(0, origin.find('='))));
  }
  return Ok();
}

void WarnOfLikelyMistakes(Env& env, const RenderRequest& request,
                          const std::vector<recipe::Recipe>& rendered) {
  for (const AbsPath& path : request.recipes) {
    const bool any = std::any_of(rendered.begin(), rendered.end(), [&](const recipe::Recipe& recipe) {
      return recipe.recipe_file == path || recipe.recipe_dir == path;
    });
    if (!any && request.select.empty()) {
      env.reporter.Warn(fmt::format(
          "'{}' makes no package: it only has staging outputs that no output inherits", path.str()));
    }
  }
  WarnOfMisspeltKeys(env, request, rendered);
  std::set<std::string> told;
  for (const recipe::Recipe& recipe : rendered) {
    for (const recipe::Recipe* part = &recipe; part != nullptr; part = part->inherited.get()) {
      for (const recipe::Source& source : part->sources) WarnOfCredentials(env, source, told);
      WarnOfCredentials(env, part->about, told);
    }
  }
}

Json RecipesToJson(const std::vector<recipe::Recipe>& recipes) {
  Json list = Json::array();
  for (const recipe::Recipe& recipe : recipes) list.push_back(variant::RenderedToJson(recipe));
  return list;
}

}  // namespace ptpkg::pipeline
