#pragma once
// Adds detected tool versions to build strings. Layer: pipeline.

#include <set>
#include <string>
#include <vector>

#include "pipeline/plan/build_plan.h"
#include "recipe/recipe.h"

namespace ptpkg::pipeline {

/// Names of packages that a build of `recipes` need not find as tools: packages of the output channel, and
/// packages that the build makes itself. Errors: kIo.
Result<std::set<std::string>> AvailablePackages(Env& env, const BuildRequest& request,
                                                const std::vector<recipe::Recipe>& recipes);

/// Renders each recipe whose build string calls detected() again, with the versions of this build's tools.
/// Versions that an heir lacks come from the staging outputs that it inherits. Other recipes are unchanged.
/// Packages of the output channel and of `recipes` themselves are not tools. Errors: any from
/// builder::CheckTools, builder::DetectVersions and Render, kInvalidInput for two variants with one name.
Result<void> DetectInBuildStrings(Env& env, const BuildRequest& request,
                                  std::vector<recipe::Recipe>& recipes);

}  // namespace ptpkg::pipeline
