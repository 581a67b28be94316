#pragma once
// Renders recipes for `ptpkg render` and for planning. Layer: pipeline.

#include <map>
#include <string>
#include <vector>

#include "recipe/expression/scope.h"
#include "recipe/recipe.h"
#include "support/env.h"
#include "support/text/json_fwd.h"

namespace ptpkg::pipeline {

struct RenderRequest {
  std::vector<AbsPath> recipes;        ///< recipe.yaml files, or directories that hold one.
  std::vector<AbsPath> variant_files;  ///< Empty: variants.yaml beside each recipe.
  std::map<std::string, std::vector<std::string>> select;
  recipe::DetectedVersions detected = {};  ///< See variant::RenderOptions.
};

/// Every variant of every recipe, in the order given. Errors: any from variant::Render.
Result<std::vector<recipe::Recipe>> Render(Env& env, const RenderRequest& request);

/// Warns of likely mistakes that are valid: a recipe without a package, a URL with a password. `rendered`:
/// Render's result for `request`.
void WarnOfLikelyMistakes(Env& env, const RenderRequest& request,
                          const std::vector<recipe::Recipe>& rendered);

Json RecipesToJson(const std::vector<recipe::Recipe>& recipes);

}  // namespace ptpkg::pipeline
