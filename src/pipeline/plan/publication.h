#pragma once
// Adds check, publish and index nodes to a plan. Layer: pipeline.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/stage.h"
#include "index/conda_channel/candidates.h"
#include "pipeline/stages/provenance.h"
#include "recipe/recipe.h"

namespace ptpkg::pipeline {

struct PublicationRequest {
  std::string subject;
  AbsPath output = AbsPath::Literal("/nonexistent");
  std::vector<std::string> packs = {};             ///< Ids of the nodes whose artifacts appear together.
  std::string staged = {};                         ///< Id of the build node, "" when there is none.
  std::vector<std::string> allow_unresolved = {};  ///< For the checks.
  std::vector<std::string> device_code = {};       ///< For the checks.
  recipe::DynamicLinking linking = {};             ///< For the checks of conda packages.
  /// The dependencies of a conda package that `output` or the plan has: the checks read their lists of files.
  std::vector<index::Candidate> dependencies = {};
  /// Ids of the test nodes of the published packages, one for each environment.
  std::vector<std::string> tests = {};
  /// Ids of further checks and tests that must pass first: for unpublished packages that these were made
  /// with.
  std::set<std::string> passed = {};
  recipe::GpuSlices slices = {};  ///< Made of each pack that can have some, and published with it.
  std::string build_number = {};  ///< Build number of a variant with a zip.
  bool force = false;
  std::optional<Signing> signing = {};  ///< nullopt: nothing is signed.
};

/// Adds the check of the artifacts of `pack` alone. Returns its id.
std::string AddCheck(const graph::StageTable& stages, const PublicationRequest& request,
                     const std::string& pack, graph::Plan& plan);

/// Adds a check for each pack, slices and their checks, and the publication of all of them. Returns the
/// publication's id.
std::string AddPublication(const graph::StageTable& stages, const PublicationRequest& request,
                           graph::Plan& plan);

/// Links the publications of one package's variants, so that none replaces the file of another:
/// wheels of two variants may have one name. REQUIRES: all that they need is in the plan.
void JoinPublications(const std::vector<std::string>& publications, graph::Plan& plan);

/// Adds the index over what `publications` brought.
void AddIndex(const graph::StageTable& stages, const AbsPath& output,
              const std::vector<std::string>& publications, graph::Plan& plan);

/// The id of the check of a pack's artifacts: "check/conda/toy-1.0-0".
std::string CheckIdOf(const std::string& pack_id);

/// True if need `role` of a publication approves the artifacts of its need `artifacts`.
bool IsApprovalOf(const std::string& role, const std::string& artifacts);

}  // namespace ptpkg::pipeline
