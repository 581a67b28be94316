#pragma once
// Formats an evaluated recipe as recipe JSON (format v1). Layer: recipe.

#include <vector>

#include "recipe/recipe.h"

namespace ptpkg::recipe {

/// Every key that has a value, as a recipe of format v1 would say it.
Json RecipeToJson(const Recipe& recipe);

/// The items of `source:`.
Json SourcesToJson(const std::vector<Source>& sources);

/// The items of `tests:`.
Json TestsToJson(const std::vector<Test>& tests);

/// The specs as text.
Json SpecsToJson(const std::vector<MatchSpec>& specs);

/// The kinds that are not empty, by their keys in a recipe.
Json RunExportsToJson(const RunExports& exports);

}  // namespace ptpkg::recipe
