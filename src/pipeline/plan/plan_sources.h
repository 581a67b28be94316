#pragma once
// Resolves and encodes the sources of a plan. Layer: pipeline. The location of a source is not in the key of
// a build, and a location on this machine is not in a package. A node keeps it as an option, and fetched
// files are compared with the key. URLs that the recipe declares are in the packages, and so in the keys of
// the nodes that write packages.

#include <optional>
#include <string>
#include <vector>

#include "graph/stage.h"
#include "pipeline/plan/build_plan.h"
#include "recipe/recipe.h"

namespace ptpkg::pipeline {

/// The directory that --source gives `recipe`; nullopt: none.
std::optional<AbsPath> SourceOverride(const BuildRequest& request, const recipe::Recipe& recipe);

/// Puts the repositories of --source into `recipes` and into the staging outputs that they inherit from, and
/// resolves all git sources to commits. A repository on this machine is shown by the URL that the recipe
/// declares, else as "./NAME" with the name of --source, because its path means nothing elsewhere. Errors: as
/// source::ResolveGit.
Result<void> ResolveSources(Env& env, const BuildRequest& request, std::vector<recipe::Recipe>& recipes);

/// The sources of a recipe after ResolveSources, with the locations of repositories from --source.
std::vector<recipe::Source> SourcesToFetch(const BuildRequest& request, const recipe::Recipe& recipe);
/// Sets the option "sources" to SourcesToFetch, and "source spans" to their positions in the recipe.
void SetSources(graph::Node& node, const BuildRequest& request, const recipe::Recipe& recipe);

/// Content of a source directory that is not a source.
struct SourceExclusions {
  std::vector<AbsPath> paths;
  std::vector<std::string> names;  ///< Paths below their source that every machine leaves out.
};

/// Files in a source directory of `recipe` that are not sources: the recipe file and the variant files,
/// which are keyed by their values, BuildRequest::not_sources, and the output and cache directories. `given`:
/// of --source. A file that one of `texts` (of the build script and its files) names is a source: the script
/// may read it.
SourceExclusions FindSourceExclusions(Env& env, const BuildRequest& request, const recipe::Recipe& recipe,
                                      const std::optional<AbsPath>& given,
                                      const std::vector<std::string>& texts);
/// The paths that SetSourceExclusions has given the node.
std::vector<AbsPath> ReadSourceExclusions(const graph::NodeRun& run);
void SetSourceExclusions(graph::Node& node, const std::vector<AbsPath>& left_out);
/// Errors: kInvalidInput.
Result<std::vector<recipe::Source>> ReadSources(const graph::NodeRun& run);
/// Commit of the first of `sources`, from ReadSources; "" for other sources, and for a directory that
/// --source names.
std::string SourceCommit(const graph::NodeRun& run, const std::vector<recipe::Source>& sources);

}  // namespace ptpkg::pipeline
