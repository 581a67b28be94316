#pragma once
// The order in which recipes of one plan are built. Layer: pipeline.

#include <vector>

#include "recipe/recipe.h"

namespace ptpkg::pipeline {

/// Recipes reordered so that each comes after those whose packages it requires; otherwise the given order.
/// Errors: kInvalidInput naming the cycle.
Result<std::vector<recipe::Recipe>> OrderByRequirements(std::vector<recipe::Recipe> recipes);

}  // namespace ptpkg::pipeline
