#pragma once
// What the build and the tests of a recipe take from the machine and from the output channel, as inputs of a
// node and back. Layer: pipeline. Each of these is looked at again when the node runs, and has to be what the
// plan says.

#include "build/build.h"
#include "build/package_test.h"
#include "build/recipe_folder.h"
#include "build/tools.h"
#include "channel/local_resolver.h"
#include "graph/stage.h"

namespace ptpkg::pipeline {

/// Sets the input "packages", the place "channel" and the needs "package NAME" for what a plan will make
/// itself.
void SetPackages(graph::Node& node, const std::vector<channel::Candidate>& packages, const AbsPath& channel);

struct PackageInputs {
  std::vector<build::LocalPackage> packages;
  [[nodiscard]] std::set<std::string> Names() const;
};
/// Errors: kRefused for a package whose digest is not the one that the plan names.
Result<PackageInputs> ReadPackages(Env& env, const graph::NodeRun& run);

/// Sets the input "recipe folder" and the place "recipe".
void SetRecipeFolder(graph::Node& node, const build::RecipeFolder& folder);
/// Errors: kRefused when a file of the folder is not as the plan says.
Result<build::RecipeFolder> ReadRecipeFolder(Env& env, const graph::NodeRun& run);

/// Sets the input and the place "recipe file". Errors: kIo.
Result<void> SetRecipeFile(Env& env, graph::Node& node, const AbsPath& file);
/// Its text. Errors: kRefused when it is not as the plan says.
Result<std::string> ReadRecipeFile(Env& env, const graph::NodeRun& run);

struct HostChoice {
  build::HostEnv host_env = build::HostEnv::kAuto;
  build::ToolOptions options = {};
};
/// Sets the inputs "env" and "tools" and the options of named tools. Errors: those of CheckTools.
Result<void> SetHost(Env& env, graph::Node& node, const recipe::Recipe& recipe, const HostChoice& choice,
                     const std::set<std::string>& provided);
/// Errors: those of CheckTools; kRefused when the tools are not those of the plan.
Result<build::HostPlan> ReadHost(Env& env, const graph::NodeRun& run, const recipe::Recipe& recipe,
                                 const PackageInputs& packages);
/// The input "env". Errors: kInvalidInput.
Result<build::HostEnv> ReadHostEnv(const graph::NodeRun& run);
build::ToolOptions ToolOptionsOf(const graph::NodeRun& run);

/// build::UnpackFunction for conda packages.
Result<void> UnpackInto(Env& env, const AbsPath& package, const build::UnpackInto& target);

}  // namespace ptpkg::pipeline
