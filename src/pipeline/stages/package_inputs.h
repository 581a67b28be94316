#pragma once
// Encodes host tools, packages and recipe files as node inputs. Layer: pipeline. When the node runs, it
// examines each of them again and compares it with the plan.

#include <map>
#include <string>

#include "builder/recipe_folder.h"
#include "builder/run_build.h"
#include "builder/test/package_test.h"
#include "builder/tools/tools.h"
#include "graph/stage.h"
#include "index/conda_channel/local_resolver.h"

namespace ptpkg::pipeline {

/// Sets the input "packages", the place "channel" and, for packages that the plan itself makes, the needs
/// "package NAME".
void SetPackages(graph::Node& node, const std::vector<index::Candidate>& packages, const AbsPath& channel);

/// Errors: kRefused for a package whose digest is not the one that the plan names.
Result<std::vector<builder::LocalPackage>> ReadPackages(Env& env, const graph::NodeRun& run);

/// Sets the input "recipe directory" and the place "recipe".
void SetRecipeFolder(graph::Node& node, const builder::RecipeFolder& folder);
/// Errors: kRefused when a file of the directory is not as the plan says.
Result<builder::RecipeFolder> ReadRecipeFolder(Env& env, const graph::NodeRun& run);

/// Sets the input and the place "recipe file". Errors: kIo.
Result<void> SetRecipeFile(Env& env, graph::Node& node, const AbsPath& file);
/// Text of the recipe file. Errors: kRefused when it is not as the plan says.
Result<std::string> ReadRecipeFile(Env& env, const graph::NodeRun& run);

/// Sets the input and the place "artifact": a package that is repacked. Errors: kIo.
Result<void> SetArtifact(Env& env, graph::Node& node, const AbsPath& file);
/// Path of the artifact. Errors: kRefused when it is not as the plan says.
Result<AbsPath> ReadArtifactPlace(Env& env, const graph::NodeRun& run);

/// Sets the input "tree" (name of the directory, digest over its files) and the place "tree". Errors: any
/// from ScanTree.
Result<void> SetTree(Env& env, graph::Node& node, const AbsPath& folder);
/// The tree there. Errors: kRefused when it is not as the plan says.
Result<StagedTree> ReadTreePlace(Env& env, const graph::NodeRun& run);
/// The same without digests, not compared with the plan: for callers that read the files anyway. CompareTree
/// has to follow.
Result<StagedTree> ListTreePlace(Env& env, const graph::NodeRun& run);
/// Errors: kRefused when `tree`, from ListTreePlace, differs from the plan. `digests`: by path, of content
/// that was used; other files are read.
Result<void> CompareTree(Env& env, const graph::NodeRun& run, StagedTree tree,
                         const std::map<std::string, Sha256>& digests);

/// Sets the inputs "env" and "tools" and the options of named tools. Errors: any from ToolKey.
Result<void> SetHost(Env& env, graph::Node& node, const builder::HostPlan& host,
                     const builder::ToolOptions& options);
/// Sets tools of the machine alone, by the input "tools" of an earlier plan.
void SetCachedHost(graph::Node& node, const std::string& tools, const builder::ToolOptions& options);
/// Request for finding the node's tools; reads no package. Errors: kInvalidInput.
Result<builder::HostRequest> ReadHostRequest(const graph::NodeRun& run);
/// Errors: kRefused when the tools differ from the plan's, any from ToolKey.
Result<void> CheckToolsUnchanged(Env& env, const graph::NodeRun& run, const builder::HostPlan& host);

/// builder::UnpackFunction for conda packages.
Result<void> UnpackInto(Env& env, const AbsPath& package, const builder::UnpackInto& target);

}  // namespace ptpkg::pipeline
