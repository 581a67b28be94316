#pragma once
// Records the inputs of a build in its conda package. Layer: pipeline. docs/formats/conda.md has each field.

#include <map>
#include <string>
#include <vector>

#include "builder/recipe_folder.h"
#include "builder/run_build.h"
#include "graph/stage.h"
#include "recipe/recipe.h"

namespace ptpkg::pipeline {

/// Name below info/.
inline constexpr const char* kBuildInputsFile = "recipe/build_inputs.json";
/// Key of the list in the value of a build node.
inline constexpr const char* kBuildInputs = "inputs";
/// Input of a build node, and key of its record: paths below a source directory that are not sources.
inline constexpr const char* kNotSources = "not_sources";

/// The inputs of this build, then the inputs of the staging outputs that it inherits. Errors: kInvalidInput
/// (the plan), kIo.
Result<Json> BuildInputsOf(Env& env, const graph::NodeRun& run, const builder::HostPlan& host,
                           const std::vector<builder::LocalPackage>& packages);

/// Sets the input "outside files" if the recipe reads files outside its directory. Errors: kIo.
Result<void> SetOutsideFiles(Env& env, graph::Node& node, const recipe::Recipe& recipe);

/// Adds build_inputs.json and the outside files to the `files` of a package, by name below info/. `built`:
/// the result of the build node. Errors: kRefused for a file that changed since it was hashed; kIo.
Result<void> AddBuildInputs(Env& env, const graph::NodeRun& run, const builder::RecipeFolder& folder,
                            const graph::NodeResult& built, std::map<std::string, std::string>& files);

}  // namespace ptpkg::pipeline
