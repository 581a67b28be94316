#pragma once
// Renders recipes for `ptpkg render` and for planning. Layer: pipeline.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/artifact.h"
#include "recipe/expression/scope.h"
#include "recipe/recipe.h"
#include "support/env.h"
#include "support/text/json_fwd.h"
#include "variant/config.h"

namespace ptpkg::pipeline {

struct RenderRequest {
  std::vector<AbsPath> recipes;        ///< recipe.yaml files, or directories that hold one.
  std::vector<AbsPath> variant_files;  ///< Empty: variants.yaml beside each recipe.
  std::map<std::string, std::vector<std::string>> select;
  recipe::DetectedVersions detected = {};  ///< See variant::RenderOptions.
  variant::KeySettings settings = {};      ///< See variant::LoadVariantConfig.
};

/// Applies the choices of the environment to `request`, to `formats` unless it has some, and to env.jobs
/// unless the user gave a number. Returns a line for each variable. Errors: as variant::ReadEnvironment.
Result<std::vector<std::string>> ApplyEnvironment(Env& env, RenderRequest& request,
                                                  std::set<ArtifactFormat>& formats);

/// Every variant of every recipe, in the order given. Errors: any from variant::Render.
Result<std::vector<recipe::Recipe>> Render(Env& env, const RenderRequest& request);

/// Refuses words of `settings` that set no key that a recipe of `rendered` reads. Errors: kUsage.
Result<void> RequireUsedSettings(const variant::KeySettings& settings,
                                 const std::vector<recipe::Recipe>& rendered);

/// Warns of likely mistakes that are valid: a recipe without a package, a URL with a password. `rendered`:
/// Render's result for `request`.
void WarnOfLikelyMistakes(Env& env, const RenderRequest& request,
                          const std::vector<recipe::Recipe>& rendered);

Json RecipesToJson(const std::vector<recipe::Recipe>& recipes);

}  // namespace ptpkg::pipeline
