#pragma once
// Adds detected tool versions to build strings. Layer: pipeline.

#include <set>
#include <string>
#include <vector>

#include "pipeline/plan/build_plan.h"
#include "recipe/recipe.h"

namespace ptpkg::pipeline {

/// Names of the packages that a build of `recipes` need not look for as tools: those of the output channel,
/// and what it makes itself. Errors: kIo.
Result<std::set<std::string>> AvailablePackages(Env& env, const BuildRequest& request,
                                                const std::vector<recipe::Recipe>& recipes);

/// Renders those of `recipes` again whose build string calls detected(), with what the tools of this build
/// say, and of what an heir lacks, those of the staging outputs that it inherits; the others stay. Packages
/// of the output channel and of `recipes` themselves count as no tools. Errors: those of builder::CheckTools,
/// builder::DetectVersions and Render; kInvalidInput for two variants that get one name.
Result<void> DetectInBuildStrings(Env& env, const BuildRequest& request,
                                  std::vector<recipe::Recipe>& recipes);

}  // namespace ptpkg::pipeline
