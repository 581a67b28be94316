// The stages that pack a staged tree: conda packages, wheels and zips. Layer: pipeline.
//
// The three follow one order: select the files, bring them into the family's layout, rewrite search paths,
// then write metadata and archive. Search paths come before any digest, because they change bytes. Installed
// RECORDs are filled in after that, for the same reason.
//
// A package sees only its part of the recipe (CondaOutput, WheelOutput, ZipOutput), so a change of another
// part leaves its key unchanged. Files that build.files leaves out stay in the staged tree, for wheels and
// zips.
//
// A recipe that names no formats makes a wheel only if a Python distribution was installed. The plan cannot
// know this, so the node may have no artifacts, which later nodes must accept.
//
// Invariant: raise the stage's version when equal inputs give other bytes.

#include <algorithm>
#include <fmt/core.h>

#include "archive/zip/zip_file.h"
#include "conda/package.h"
#include "convert/layout_rules.h"
#include "convert/package_metadata.h"
#include "convert/tree/apply_layouts.h"
#include "convert/tree/conda_tree.h"
#include "convert/tree/wheel_tree.h"
#include "convert/tree/zip_tree.h"
#include "pipeline/edit_wheel/wheel_form.h"
#include "pipeline/stages/build_inputs.h"
#include "pipeline/stages/pack_result.h"
#include "pipeline/stages/package_inputs.h"
#include "pipeline/stages/recipe_sbom.h"
#include "pipeline/stages/stages.h"
#include "pipeline/stages/wheel_repair.h"
#include "pipeline/stages/work_folder.h"
#include "recipe/recipe_codec.h"
#include "wheel/sbom.h"

namespace ptpkg::pipeline {

namespace {

using graph::Node;
using graph::NodeResult;
using graph::NodeRun;

// Raised when equal inputs give other bytes.
constexpr int kCondaVersion = 4;
constexpr int kWheelVersion = 7;
constexpr int kZipVersion = 2;

/// Result of the build stage: the tree to pack, and the licence files beside it. `for_conda`: without
/// the files that build.files leaves out.
struct Staged {
  StagedTree tree;
  std::map<std::string, std::string> license_files;  ///< Name below info/licenses → bytes.
  std::string prefix;
};

Result<Staged> ReadStaged(Env& env, const NodeRun& run, bool for_conda) {
  PTPKG_TRY(const NodeResult result, run.Need("staged tree"));
  PTPKG_TRY(const std::vector<std::string> wheel_only,
            JsonStringsOr(result.value, "wheel only", {}, "the staged tree"));
  Staged staged;
  staged.tree.root = result.files.root / "tree";
  for (const TreeEntry& entry : result.files.entries) {
    const std::string& path = entry.path.str();
    if (path.starts_with("tree/")) {
      if (for_conda && std::binary_search(wheel_only.begin(), wheel_only.end(), path.substr(5))) continue;
      TreeEntry inner = entry;
      inner.path = RelPath::Literal(path.substr(5));
      staged.tree.entries.push_back(std::move(inner));
    } else if (path.starts_with("licenses/")) {
      PTPKG_TRY(std::string text, ReadFile(env.fs, result.files.root / entry.path));
      staged.license_files.emplace(path.substr(9), std::move(text));
    }
  }
  PTPKG_TRY(staged.prefix, JsonString(result.value, "prefix", "the staged tree"));
  return staged;
}

Result<conda::PackageMetadata> CondaMetadata(Env& env, const NodeRun& run, const recipe::CondaOutput& output,
                                             const Staged& staged) {
  PTPKG_TRY(const Json exports, run.Input("run exports"));
  PTPKG_TRY(const auto depends, JsonStringsOr(exports, "depends", {}, "the run exports of a plan"));
  PTPKG_TRY(const auto constrains, JsonStringsOr(exports, "constrains", {}, "the run exports of a plan"));
  PTPKG_TRY(const builder::RecipeFolder folder, ReadRecipeFolder(env, run));
  conda::PackageMetadata metadata = convert::CondaMetadataOf(output, depends);
  metadata.constrains.insert(metadata.constrains.end(), constrains.begin(), constrains.end());
  metadata.license_files = staged.license_files;
  PTPKG_TRY(const std::string written, ReadRecipeFile(env, run));
  PTPKG_TRY(auto recipe_files, builder::RecipeFiles(env, output, written, folder));
  metadata.info_files.merge(recipe_files);
  PTPKG_TRY(const NodeResult built, run.Need("staged tree"));
  PTPKG_CHECK(AddBuildInputs(env, run, folder, built, metadata.info_files));
  return metadata;
}

elf::RelinkOptions RelinkOptionsOf(const recipe::CondaOutput& output, const std::string& prefix) {
  const recipe::DynamicLinking& linking = output.dynamic_linking;
  elf::RelinkOptions options{.rules = convert::LayoutRules(output.layout),
                             .build_prefix = prefix,
                             .added = linking.rpaths,
                             .kept = linking.rpath_allowlist};
  if (!linking.relocates || !linking.relocated.empty()) options.relocated = linking.relocated;
  return options;
}

Result<NodeResult> PackConda(Env& env, const NodeRun& run, const AbsPath& work) {
  PTPKG_TRY(const Json encoded, run.Input("output"));
  PTPKG_TRY(const recipe::CondaOutput output, recipe::DecodeCondaOutput(encoded, run.subject()));
  PTPKG_TRY(const Staged staged, ReadStaged(env, run, true));
  PTPKG_TRY(const conda::PackageMetadata metadata, CondaMetadata(env, run, output, staged));
  PTPKG_TRY(const std::vector<std::string> formats, run.Texts("formats"));
  const auto wants = [&](const char* name) {
    return std::find(formats.begin(), formats.end(), name) != formats.end();
  };

  PTPKG_TRY(StagedTree tree, convert::MakeCondaTree(env, staged.tree, staged.prefix, work));
  PTPKG_CHECK(convert::RelinkTree(env, tree, RelinkOptionsOf(output, staged.prefix),
                                  {.subject = run.subject(), .layout = "extra.ptpkg.layouts.conda"}));
  // After the search paths: RECORD has the digests of the final bytes.
  PTPKG_CHECK(convert::AddInstalledRecords(env, staged.tree, tree));
  const recipe::PrefixDetection& detection = output.prefix_detection;
  PTPKG_TRY(const std::vector<Artifact> artifacts,
            conda::WritePackages(env,
                                 {.metadata = metadata,
                                  .tree = tree,
                                  .prefix_placeholder = detection.ignore_all ? "" : staged.prefix,
                                  .binary_placeholders = !detection.ignore_binary,
                                  .keeps_placeholder = detection.ignore,
                                  .force_text = detection.force_text,
                                  .force_binary = detection.force_binary,
                                  .no_link = output.always_copy_files},
                                 run.folder(), {.conda = wants("conda"), .tar_bz2 = wants("tar.bz2")}));
  return PackedResult(run, artifacts, output.subdir, {});
}

Result<NodeResult> PackWheel(Env& env, const NodeRun& run, const AbsPath& work) {
  PTPKG_TRY(const Json encoded, run.Input("output"));
  PTPKG_TRY(const recipe::WheelOutput output, recipe::DecodeWheelOutput(encoded, run.subject()));
  PTPKG_TRY(const Staged staged, ReadStaged(env, run, false));
  PTPKG_TRY(const Json wanted, run.Input("wanted"));
  // A recipe that names no formats makes a wheel of a Python distribution, and none of a C library.
  if (wanted != true && convert::DistInfoFolders(staged.tree).empty()) {
    Task(env.reporter, {.stage = "wheel", .subject = run.subject()})
        .Skipped("there is no Python distribution");
    return PackedResult(run, {}, output.subdir, {});
  }
  PTPKG_TRY(const convert::Distribution distribution, convert::DistributionOf(env, output, staged.tree));
  PTPKG_TRY(const convert::WheelDescription description, convert::WheelDescriptionOf(output, distribution));
  PTPKG_TRY(const wheel::FileName name, wheel::FileName::Of(description.metadata));
  PTPKG_TRY(
      convert::WheelTree tree,
      convert::MakeWheelTree(
          env, staged.tree, distribution,
          {.stem = name.Stem(), .exclude = output.wheel_exclude, .prefix_placeholder = staged.prefix}, work));
  for (const auto& [file, text] : description.dist_info) tree.dist_info.insert_or_assign(file, text);
  PTPKG_TRY(const Json materials, run.Input("materials"));
  PTPKG_TRY(std::string sbom, RecipeSbom(materials, description.metadata),
            "while writing the bill of materials");
  tree.dist_info.insert_or_assign(wheel::SbomName("ptpkg"), std::move(sbom));
  const auto rules = convert::LayoutRules(output.layout);
  const std::string site_packages = staged.prefix + "/" + distribution.site_packages;
  PTPKG_CHECK(convert::RelinkTree(env, tree.payload, {.rules = rules, .build_prefix = site_packages},
                                  {.subject = run.subject(), .layout = "extra.ptpkg.layouts.wheel"}));
  PTPKG_TRY(Artifact artifact, WriteWheelOf(env, run,
                                            {.description = description,
                                             .entry_points = distribution.entry_points,
                                             .tree = std::move(tree)}));
  // Last: a repair works on a finished wheel.
  if (!output.wheel_repair.empty()) {
    PTPKG_TRY(artifact, RepairWheel(env, run, output.wheel_repair, artifact));
  }
  return PackedResult(run, {artifact}, output.subdir, {});
}

/// `tree` as content of the directory `top`, as which it lies on the disk.
StagedTree Below(const std::string& top, StagedTree tree) {
  for (TreeEntry& entry : tree.entries) entry.path = RelPath::Literal(top) / entry.path;
  tree.root = tree.root.Parent();
  return tree;
}

Result<NodeResult> PackZip(Env& env, const NodeRun& run, const AbsPath& work) {
  PTPKG_CHECK(CompareDeflater(run));
  PTPKG_TRY(const Json encoded, run.Input("output"));
  PTPKG_TRY(const recipe::ZipOutput output, recipe::DecodeZipOutput(encoded, run.subject()));
  PTPKG_TRY(const Staged staged, ReadStaged(env, run, false));
  const AbsPath top = work / output.zip.top;
  PTPKG_CHECK(env.fs.MakeDirs(top));
  PTPKG_TRY(convert::ZipTree zip, convert::MakeZipTree(env, staged.tree, output, top));
  const auto rules = convert::LayoutRules(output.layout);
  const std::string root = zip.root.empty() ? staged.prefix : staged.prefix + "/" + zip.root;
  PTPKG_CHECK(convert::RelinkTree(env, zip.tree, {.rules = rules, .build_prefix = root},
                                  {.subject = run.subject(), .layout = "extra.ptpkg.layouts.zip"}));
  const StagedTree packed = Below(output.zip.top, std::move(zip.tree));
  archive::EntrySet entries;
  for (const TreeEntry& entry : packed.entries) PTPKG_CHECK(entries.AddTreeEntry(packed, entry));
  const std::string name = output.zip.name + std::string(ArtifactExtension(ArtifactFormat::kZip));
  PTPKG_TRY(const Artifact artifact, archive::WriteZipArchive(env, entries, run.folder() / name));
  return PackedResult(run, {artifact}, "", {});
}

using Pack = Result<NodeResult> (*)(Env&, const NodeRun&, const AbsPath& work);

template <Pack kPack>
Result<NodeResult> RunPack(Env& env, const NodeRun& run) {
  PTPKG_TRY(WorkFolder work, WorkFolder::Create(env, run));
  auto result = kPack(env, run, work.path());
  const Result<void> finished = std::move(work).Finish();
  if (result) PTPKG_CHECK(finished);  // else why it failed counts
  return result;
}

}  // namespace

void AddPackStages(graph::StageTable& stages) {
  stages.Add({.name = "conda",
              .version = kCondaVersion,
              .keep = graph::Keep::kStaging,
              .parallel = true,
              .run = RunPack<PackConda>,
              .find = FindArtifacts});
  stages.Add({.name = "wheel",
              .version = kWheelVersion,
              .keep = graph::Keep::kStaging,
              .parallel = true,
              .run = RunPack<PackWheel>,
              .find = FindArtifacts});
  stages.Add({.name = "zip",
              .version = kZipVersion,
              .keep = graph::Keep::kStaging,
              .parallel = true,
              .run = RunPack<PackZip>,
              .find = FindArtifacts});
}

}  // namespace ptpkg::pipeline
