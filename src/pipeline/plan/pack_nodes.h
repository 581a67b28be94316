#pragma once
// Plans the nodes that pack and test the files of a build. Layer: pipeline. Each function returns a node and
// adds it to no plan.

#include <set>
#include <string>

#include "pipeline/plan/build_nodes.h"
#include "pipeline/plan/output_selection.h"

namespace ptpkg::pipeline {

/// A recipe, and what its packages are made from.
struct PackInputs {
  const recipe::Recipe& recipe;
  const OutputSelection& wanted;
  const index::Resolution& resolution;  ///< With the inherited run exports.
  const builder::RecipeFolder& folder;  ///< The whole recipe directory.
  const std::string& built;             ///< Id of the build node.
};

/// Packs a conda package in the formats wanted.Packed(). Errors: kIo.
Result<graph::Node> MakeCondaNode(Env& env, const PlanInputs& inputs, const PackInputs& pack);

/// The package of the node `packed`, of MakeCondaNode, for later builds of the plan.
index::Candidate CandidateOf(const PackInputs& pack, const std::string& packed);

/// Packs a wheel. `materials`: MaterialsOfBuild. Errors: as SetWheelRepair.
Result<graph::Node> MakeWheelNode(Env& env, const PlanInputs& inputs, const PackInputs& pack, Json materials);

/// Packs a zip. Errors: kAlreadyExists for a name that another variant has in the output directory; kIo.
Result<graph::Node> MakeZipNode(Env& env, const PlanInputs& inputs, const PackInputs& pack);

/// One test environment of a recipe.
struct TestInputs {
  const recipe::Recipe& recipe;         ///< One of builder::TestEnvironments.
  const builder::RecipeFolder& folder;  ///< The recipe's directory.
  const graph::Node& built;             ///< The build node with the tools.
  const std::string& packed;            ///< Id of the node that packs the conda package.
  std::size_t number;                   ///< Number of the environment, from 1.
};

struct PlannedTest {
  graph::Node node;
  std::set<std::string> passed;  ///< Ids that publications of the tested package wait for.
};

/// Tests a conda package in one environment. Errors: as index::Resolve and
/// builder::CheckTestTools.
Result<PlannedTest> PlanTest(Env& env, const PlanInputs& inputs, const PlannedPackages& packages,
                             const TestInputs& test);

}  // namespace ptpkg::pipeline
