#pragma once
// Relations between the packages of one plan. Layer: pipeline. The stages are in outputs_stage.cpp.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "conda/package.h"
#include "graph/plan.h"
#include "graph/stage.h"
#include "index/conda_channel/local_resolver.h"
#include "model/artifact.h"
#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::pipeline {

/// True if `recipe` lists the package `name` among its run requirements.
bool RequiresToRun(const recipe::Recipe& recipe, const std::string& name);

/// Adds the texts of `more` that `list` lacks.
void AppendNew(const std::vector<std::string>& more, std::vector<std::string>& list);

/// The packages among `candidates` that meet the build and host requirements of `recipe`. Errors: as
/// index::Resolve.
Result<index::Resolution> ResolveRequirements(const std::vector<index::Candidate>& candidates,
                                              const recipe::Recipe& recipe);

/// `resolution` of `recipe` with the run exports of the packages that its staging outputs are built with, as
/// if the recipe required these itself (CEP 41). Errors: as index::Resolve.
Result<index::Resolution> WithInheritedRunExports(const std::vector<index::Candidate>& candidates,
                                                  const recipe::Recipe& recipe, index::Resolution resolution);

/// The dependencies of the conda package of `recipe`, limited to those that `candidates` offers, in versions
/// that fit together. None if they do not fit: installers then refuse the package, but its build goes on.
std::vector<index::Candidate> DependenciesOf(const std::vector<index::Candidate>& candidates,
                                             const recipe::Recipe& recipe,
                                             const index::Resolution& built_with);

/// The conda package that the node `packed` makes of `recipe`, as a candidate for later builds of the plan.
index::Candidate PlannedCandidate(const recipe::Recipe& recipe, const conda::PackageMetadata& metadata,
                                  ArtifactFormat format, const std::string& packed);

/// Nodes that approve of a conda package of the plan.
struct PackageApprovals {
  std::set<std::string> own = {};  ///< Ids of its check and its tests.
  /// Ids of nodes that no publication needs yet: its own, and the unpublished ones of its requirements.
  std::set<std::string> unpublished = {};
};

/// The conda packages that builds of a plan can use: from the output channel, and planned ones. A node that
/// uses a planned package starts after all nodes that approve of the package.
class PlannedPackages {
 public:
  /// The packages of the channel in the output directory `output`. Errors: as index::ReadChannel.
  static Result<PlannedPackages> Read(Env& env, const AbsPath& output);

  [[nodiscard]] const std::vector<index::Candidate>& candidates() const { return candidates_; }

  /// Offers a planned package to the builds that follow, as if the channel had it already.
  void Add(index::Candidate package) { candidates_.push_back(std::move(package)); }

  /// Sets the nodes that approve of the package that the node `packed` makes.
  void Approve(const std::string& packed, PackageApprovals approvals);

  /// Lets `node` read `packages`. Returns the ids of approvals that no publication of these packages waits
  /// for: the packages that `node` makes must wait for them.
  [[nodiscard]] std::set<std::string> Require(graph::Node& node,
                                              const std::vector<index::Candidate>& packages) const;

 private:
  PlannedPackages(AbsPath channel, std::vector<index::Candidate> candidates)
      : channel_(std::move(channel)), candidates_(std::move(candidates)) {}

  AbsPath channel_;
  std::vector<index::Candidate> candidates_;
  std::map<std::string, PackageApprovals> approvals_;  // by the id of the node that makes the package
};

/// Inserts `node` after the last node that it needs, as early as possible. A test that fails because two
/// outputs clash must not come first. Returns the position after it.
std::vector<graph::Node>::iterator InsertAfterNeeds(graph::Node node, graph::Plan& plan);

/// The outputs that a plan builds: recipe file → id of the build → its recipe.
using OutputsTogether = std::map<std::string, std::map<std::string, const recipe::Recipe*>>;

/// For each recipe with several outputs, adds a node that compares their files. Later publications wait for
/// it. REQUIRES: the builds are in the plan.
void AddClashes(const graph::StageTable& stages, const OutputsTogether& together, graph::Plan& plan);

}  // namespace ptpkg::pipeline
