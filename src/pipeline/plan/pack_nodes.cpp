#include "pipeline/plan/pack_nodes.h"

#include <fmt/core.h>

#include "builder/test/package_test.h"
#include "convert/package_metadata.h"
#include "pipeline/stages/build_inputs.h"
#include "pipeline/stages/package_inputs.h"
#include "pipeline/stages/stages.h"
#include "pipeline/stages/wheel_repair.h"
#include "publish/output/output_folder.h"
#include "recipe/recipe_codec.h"

namespace ptpkg::pipeline {

namespace {

/// `node` with what all packing nodes have.
graph::Node PackingNode(const Env& env, const BuildRequest& request, graph::Node node,
                        const std::string& built) {
  node.inputs["source_date_epoch"] = env.source_date_epoch;
  node.needs.emplace("staged tree", built);
  node.places.emplace("output", request.output);
  if (request.keep_work) node.options.emplace("keep-work", "");
  return node;
}

/// Refuses a zip whose name a variant of an earlier run has in the output directory.
Result<void> CheckZipPlace(Env& env, const BuildRequest& request, const recipe::Recipe& recipe) {
  if (request.force) return Ok();
  PTPKG_TRY(publish::OutputFolder output, publish::OutputFolder::Open(env, request.output));
  const std::string name = recipe.ptpkg.zip.name + std::string(ArtifactExtension(ArtifactFormat::kZip));
  const RelPath place = publish::OutputFolder::PlaceOf(ArtifactFormat::kZip, recipe.subdir, name);
  return output.CheckZipPlace({.path = place.str(), .variant = recipe.FileStem()},
                              std::to_string(recipe.build_number));
}

/// The tools of a test environment that holds `provided`. Tools that the build took from a client come from
/// there for the tests too.
builder::HostRequest TestTools(const BuildRequest& request, const graph::Node& built,
                               std::set<std::string> provided) {
  builder::HostRequest tools{.options = request.tools, .provided = std::move(provided)};
  const Json& build_env = built.inputs["env"];
  tools.host_env = build_env == "conda" ? builder::HostEnv::kConda : builder::HostEnv::kSystem;
  if (build_env == "wheels") tools.host_env = request.host_env;
  return tools;
}

}  // namespace

Result<graph::Node> MakeCondaNode(Env& env, const PlanInputs& inputs, const PackInputs& pack) {
  const recipe::Recipe& recipe = pack.recipe;
  graph::Node node = inputs.stages.MakeNode("conda", recipe.FileStem());
  node.inputs["output"] = recipe::EncodeOutput(recipe::CondaOutputOf(recipe));
  node.inputs["formats"] = pack.wanted.Packed();
  node.inputs["run exports"] = {{"depends", pack.resolution.run_exports},
                                {"constrains", pack.resolution.run_constrains}};
  SetRecipeFolder(node, pack.folder);
  node.places.insert_or_assign("recipe", recipe.recipe_dir);
  PTPKG_CHECK(SetRecipeFile(env, node, recipe.recipe_file));
  PTPKG_CHECK(SetOutsideFiles(env, node, recipe));
  return PackingNode(env, inputs.request, std::move(node), pack.built);
}

index::Candidate CandidateOf(const PackInputs& pack, const std::string& packed) {
  const index::Resolution& resolution = pack.resolution;
  conda::PackageMetadata metadata =
      convert::CondaMetadataOf(recipe::CondaOutputOf(pack.recipe), resolution.run_exports);
  metadata.constrains.insert(metadata.constrains.end(), resolution.run_constrains.begin(),
                             resolution.run_constrains.end());
  const ArtifactFormat format =
      pack.wanted.Packed().front() == "conda" ? ArtifactFormat::kConda : ArtifactFormat::kTarBz2;
  return PlannedCandidate(pack.recipe, metadata, format, packed);
}

Result<graph::Node> MakeWheelNode(Env& env, const PlanInputs& inputs, const PackInputs& pack,
                                  Json materials) {
  graph::Node node = inputs.stages.MakeNode("wheel", pack.recipe.FileStem());
  // Only the wheel's part of the recipe enters the key: a new build number repacks no wheel.
  node.inputs["output"] = recipe::EncodeOutput(recipe::WheelOutputOf(pack.recipe));
  node.inputs["wanted"] = pack.wanted.wheel_named;
  SetWheelForm(inputs.request.wheel_form, node);
  PTPKG_CHECK(SetWheelRepair(env, pack.recipe.ptpkg.wheel_repair, node));
  node.inputs["materials"] = std::move(materials);
  return PackingNode(env, inputs.request, std::move(node), pack.built);
}

Result<graph::Node> MakeZipNode(Env& env, const PlanInputs& inputs, const PackInputs& pack) {
  PTPKG_CHECK(CheckZipPlace(env, inputs.request, pack.recipe));
  graph::Node node = inputs.stages.MakeNode("zip", pack.recipe.FileStem());
  node.inputs["output"] = recipe::EncodeOutput(recipe::ZipOutputOf(pack.recipe));
  SetDeflater(node);
  return PackingNode(env, inputs.request, std::move(node), pack.built);
}

Result<PlannedTest> PlanTest(Env& env, const PlanInputs& inputs, const PlannedPackages& packages,
                             const TestInputs& test) {
  const recipe::Recipe& recipe = test.recipe;
  const BuildRequest& request = inputs.request;
  graph::Node node = inputs.stages.MakeNode("test", recipe.FileStem());
  const std::string number = test.number == 1 ? "" : fmt::format("-{}", test.number);
  node.id += number;
  PTPKG_TRY(const index::Resolution resolution,
            index::Resolve(packages.candidates(), {.host = builder::TestRequirements(recipe),
                                                   .build = {},
                                                   .ignore_by_name = {},
                                                   .ignore_from_package = {},
                                                   .subdir = recipe.subdir}),
            "while resolving the requirements of the tests");
  recipe::Recipe tested = recipe;
  tested.sources.clear();  // no test reads them, and a key holds no place
  node.inputs["recipe"] = recipe::EncodeRecipe(tested);
  SetRecipeFolder(node, test.folder);
  node.places.insert_or_assign("recipe", recipe.recipe_dir);
  std::vector<index::Candidate> others;
  std::set<std::string> provided;
  for (const index::Candidate& package : resolution.packages) {
    // The package under test comes from the node that packs it, not from the channel.
    if (package.name == recipe.name) continue;
    others.push_back(package);
    provided.insert(package.name);
  }
  std::set<std::string> passed = packages.Require(node, others);
  PTPKG_TRY(const builder::HostPlan host,
            builder::CheckTestTools(env, recipe, TestTools(request, test.built, std::move(provided))),
            "while looking for the tools of the tests");
  PTPKG_CHECK(SetHost(env, node, host, request.tools));
  node.needs.emplace("artifacts", test.packed);
  node.places.emplace("output", request.output);
  node.places.emplace("log",
                      publish::OutputFolder::LogFileOf(request.output, recipe.FileStem(), "test" + number));
  if (request.keep_work) node.options.emplace("keep-work", "");
  return PlannedTest{.node = std::move(node), .passed = std::move(passed)};
}

}  // namespace ptpkg::pipeline
