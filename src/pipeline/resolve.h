#pragma once
// Finds the packages of our own output channel that a recipe builds against. Layer: pipeline.
// Solving foreign channels is a conda client's job (build/host_prefix); here names lead to files.

#include <vector>

#include "build/build.h"
#include "recipe/recipe.h"

namespace ptpkg::pipeline {

struct Resolution {
  std::vector<build::LocalPackage> packages;  ///< Direct ones first, then what they depend on, by name.
  std::vector<std::string> run_exports;       ///< Weak run_exports of host packages, strong ones of build.
};

/// For each build and host requirement the newest package of `channel` (version, then build number, then
/// the .conda form) that satisfies it; requirements that the channel has no package of are left to the
/// machine. Errors: kNotFound when the channel has the name but no version that fits: lists what there is.
Result<Resolution> ResolveLocal(Env& env, const recipe::Recipe& recipe, const AbsPath& channel);

/// Recipes reordered so that each comes after those whose packages it requires; otherwise the given order.
/// Errors: kInvalidInput naming the cycle.
Result<std::vector<recipe::Recipe>> OrderByRequirements(std::vector<recipe::Recipe> recipes);

}  // namespace ptpkg::pipeline
