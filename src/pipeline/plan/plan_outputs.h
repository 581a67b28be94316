#pragma once
// Relations between the packages of one plan. Layer: pipeline. The stages are in outputs_stage.cpp.

#include <map>
#include <string>
#include <vector>

#include "conda/package.h"
#include "graph/plan.h"
#include "graph/stage.h"
#include "index/conda_channel/local_resolver.h"
#include "model/artifact.h"
#include "recipe/recipe.h"

namespace ptpkg::pipeline {

/// True if `recipe` lists the package `name` among its run requirements.
bool RequiresToRun(const recipe::Recipe& recipe, const std::string& name);

/// The dependencies of the conda package of `recipe`, limited to those that `candidates` offers, in versions
/// that fit together. None if they do not fit: installers then refuse the package, but its build goes on.
std::vector<index::Candidate> DependenciesOf(const std::vector<index::Candidate>& candidates,
                                             const recipe::Recipe& recipe,
                                             const index::Resolution& built_with);

/// The conda package that the node `packed` makes of `recipe`, as a candidate for later builds of the plan.
index::Candidate PlannedCandidate(const recipe::Recipe& recipe, const conda::PackageMetadata& metadata,
                                  ArtifactFormat format, const std::string& packed);

/// Inserts `node` after the last node that it needs, as early as possible. A test that fails because two
/// outputs clash must not come first. Returns the position after it.
std::vector<graph::Node>::iterator InsertAfterNeeds(graph::Node node, graph::Plan& plan);

/// The outputs that a plan builds: recipe file → id of the build → its recipe.
using OutputsTogether = std::map<std::string, std::map<std::string, const recipe::Recipe*>>;

/// For each recipe with several outputs, adds a node that compares their files. Later publications wait for
/// it. REQUIRES: the builds are in the plan.
void AddClashes(const graph::StageTable& stages, const OutputsTogether& together, graph::Plan& plan);

}  // namespace ptpkg::pipeline
