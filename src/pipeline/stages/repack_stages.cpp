// The stages that make an artifact of one family from a finished one of the other, or a wheel from a
// directory. Layer: pipeline.
//
// The input comes from somebody else, so it is checked before it is converted: a wheel must be installable, a
// conda package sound. A broken input would otherwise become a broken package of ours. Then the order of
// pack_stages.cpp follows: layout, search paths, records, archive.
//
// An unpacked wheel is packed unchanged. Its files would be read twice, for the comparison with the plan and
// for packing, so the digests of the new RECORD serve for the comparison. If packing fails, the tree is
// compared all the same: a change during the run is then the better explanation.

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "conda/info/package_info.h"
#include "conda/package.h"
#include "convert/conda_to_wheel.h"
#include "convert/tree/apply_layouts.h"
#include "convert/tree/conda_tree.h"
#include "convert/tree/tree_to_wheel.h"
#include "convert/wheel_to_conda.h"
#include "pipeline/edit_wheel/wheel_form.h"
#include "pipeline/stages/pack_result.h"
#include "pipeline/stages/package_inputs.h"
#include "pipeline/stages/stages.h"
#include "pipeline/stages/work_folder.h"
#include "support/digest/base64.h"
#include "support/text/text.h"
#include "verify/input_gate.h"
#include "wheel/wheel.h"

namespace ptpkg::pipeline {

namespace {

using graph::NodeResult;
using graph::NodeRun;

// Raised when equal inputs give other bytes.
constexpr int kRepackVersion = 7;

Result<NodeResult> WheelToConda(Env& env, const NodeRun& run, WorkFolder& work) {
  convert::WheelToCondaOptions options;
  PTPKG_TRY(options.layout, run.Text("layout"));
  PTPKG_TRY(options.build_string, run.Text("build string"));
  PTPKG_TRY(options.python, run.Text("python"));
  PTPKG_TRY(options.build_number, run.Number("build number"));
  PTPKG_TRY(const std::vector<std::string> formats, run.Texts("formats"));
  const auto wants = [&](const char* name) {
    return std::find(formats.begin(), formats.end(), name) != formats.end();
  };

  PTPKG_TRY(const AbsPath artifact, ReadArtifactPlace(env, run));
  PTPKG_TRY(const AbsPath unpacked_folder, work.MakeFolder("wheel"));
  PTPKG_TRY(const wheel::UnpackedWheel unpacked, wheel::UnpackWheelTree(env, artifact, unpacked_folder));
  PTPKG_CHECK(verify::RequireInstallable(env, artifact, unpacked.tree));
  PTPKG_TRY(const AbsPath root, work.MakeFolder("conda"));
  PTPKG_TRY(convert::WheelAsConda made, convert::ConvertWheelToConda(env, unpacked, options, root));
  PTPKG_CHECK(convert::RelinkTree(env, made.tree, made.relink,
                                  {.subject = made.metadata.FileStem(), .tells_paths = true}));
  PTPKG_CHECK(convert::AddInstalledRecords(env, made.tree, made.tree));
  // No payload can hold the placeholder by chance: it was made up here, for scripts.
  PTPKG_TRY(const std::vector<Artifact> artifacts,
            conda::WritePackages(env,
                                 {.metadata = made.metadata,
                                  .tree = made.tree,
                                  .prefix_placeholder = made.placeholder,
                                  .binary_placeholders = false},
                                 run.folder(), {.conda = wants("conda"), .tar_bz2 = wants("tar.bz2")}));
  return PackedResult(run, artifacts, made.metadata.subdir,
                      {.unknown_requirements = made.unknown_requirements});
}

Result<NodeResult> CondaToWheel(Env& env, const NodeRun& run, WorkFolder& work) {
  PTPKG_TRY(const AbsPath artifact, ReadArtifactPlace(env, run));
  convert::CondaToWheelOptions options;
  PTPKG_TRY(options.layout, run.Text("layout"));
  PTPKG_TRY(options.distribution, run.Text("distribution"));

  PTPKG_TRY(const AbsPath checked, work.MakeFolder("checked"));
  PTPKG_CHECK(verify::RequireSoundPackage(env, artifact, checked));
  // Unpacked for the check only. A second copy of a large package follows.
  PTPKG_CHECK(RemoveTree(env.fs, checked));
  PTPKG_TRY(const AbsPath prefix, work.MakeFolder("prefix"));
  PTPKG_TRY(const conda::PackageInfo info, conda::UnpackPackage(env, artifact, prefix, {}));
  PTPKG_TRY(const StagedTree unpacked, ScanTree(env, prefix));
  PTPKG_TRY(const AbsPath root, work.MakeFolder("wheel"));
  PTPKG_TRY(convert::CondaAsWheel made, convert::ConvertCondaToWheel(env, unpacked, info, options, root));
  PTPKG_CHECK(convert::RelinkTree(env, made.tree.payload, made.relink,
                                  {.subject = run.subject(), .tells_paths = true}));
  PTPKG_TRY(const Artifact wheel, WriteWheelOf(env, run,
                                               {.description = std::move(made.description),
                                                .entry_points = std::move(made.entry_points),
                                                .tree = std::move(made.tree)}));
  Packed rest;
  if (!made.placeholder.empty()) rest.forbidden.push_back(made.placeholder);
  return PackedResult(run, {wheel}, "", rest);
}

/// Digests of the payload, which RECORD has just been given.
Result<std::map<std::string, Sha256>> PackedDigests(Env& env, const AbsPath& wheel) {
  PTPKG_TRY(const wheel::WheelInfo info, wheel::ReadWheelInfo(env, wheel));
  std::map<std::string, Sha256> digests;
  for (const wheel::RecordRow& row : info.record) {
    if (row.path.starts_with(info.dist_info_dir + "/")) continue;  // made anew, not copied
    const std::string padded = ReplaceAll(ReplaceAll(row.sha256, "-", "+"), "_", "/") + "=";
    PTPKG_TRY(const std::string bytes, DecodeBase64(padded), "while reading RECORD of the new wheel");
    Sha256 digest;
    if (bytes.size() != digest.bytes.size())
      return Error(ErrorCode::kInternal, fmt::format("the digest of '{}' is invalid", row.path));
    std::copy(bytes.begin(), bytes.end(), digest.bytes.begin());
    digests.emplace(row.path, digest);
  }
  return digests;
}

Result<NodeResult> PackTree(Env& env, const NodeRun& run, WorkFolder& work, const StagedTree& tree,
                            const convert::TreeToWheelOptions& options) {
  PTPKG_TRY(const AbsPath root, work.MakeFolder("wheel"));
  PTPKG_TRY(convert::TreeAsWheel made, convert::ConvertTreeToWheel(env, tree, options, root));
  if (made.relink)
    PTPKG_CHECK(convert::RelinkTree(env, made.tree.payload, made.relink_options,
                                    {.subject = run.subject(), .tells_paths = true}));
  PTPKG_TRY(const Artifact wheel, WriteWheelOf(env, run,
                                               {.description = std::move(made.description),
                                                .build = std::move(made.build),
                                                .entry_points = std::move(made.entry_points),
                                                .tree = std::move(made.tree)}));
  Packed rest;
  // Files of a prefix may contain its path; an unpacked wheel lies anywhere.
  if (!made.relink_options.build_prefix.empty()) rest.forbidden.push_back(tree.root.str());
  return PackedResult(run, {wheel}, "", rest);
}

/// An unpacked wheel is packed as it lies, so its files need not be read to be compared with the plan, then
/// once more to be packed: what was packed is compared.
Result<NodeResult> TreeToWheel(Env& env, const NodeRun& run, WorkFolder& work) {
  convert::TreeToWheelOptions options;
  PTPKG_TRY(options.layout, run.Text("layout"));
  PTPKG_TRY(options.distribution, run.Text("distribution"));
  PTPKG_TRY(const StagedTree listed, ListTreePlace(env, run));
  if (!options.layout.empty() || !convert::IsUnpackedWheel(listed)) {
    PTPKG_TRY(const StagedTree tree, ReadTreePlace(env, run));
    return PackTree(env, run, work, tree, options);
  }
  Result<NodeResult> packed = PackTree(env, run, work, listed, options);
  std::map<std::string, Sha256> digests;
  if (packed) {
    PTPKG_TRY(const Packed wheel, ReadPacked(*packed));
    PTPKG_TRY(const ArtifactRecord record, FirstArtifact(wheel, run));
    PTPKG_TRY(digests, PackedDigests(env, FileOf(*packed, record)));
  }
  // If the tree changed meanwhile, that is the reason why it cannot be packed.
  PTPKG_CHECK(CompareTree(env, run, listed, digests));
  return packed;
}

using Repack = Result<NodeResult> (*)(Env&, const NodeRun&, WorkFolder&);

template <Repack kRepack>
Result<NodeResult> RunRepack(Env& env, const NodeRun& run) {
  PTPKG_TRY(WorkFolder work, WorkFolder::Create(env, run));
  auto result = kRepack(env, run, work);
  const Result<void> finished = std::move(work).Finish();
  if (result) PTPKG_CHECK(finished);  // else why it failed counts
  return result;
}

}  // namespace

void AddRepackStages(graph::StageTable& stages) {
  stages.Add({.name = "repack-conda",
              .version = kRepackVersion,
              .keep = graph::Keep::kStaging,
              .parallel = true,
              .run = RunRepack<WheelToConda>});
  stages.Add({.name = "repack-wheel",
              .version = kRepackVersion,
              .keep = graph::Keep::kStaging,
              .parallel = true,
              .run = RunRepack<CondaToWheel>});
  stages.Add({.name = "repack-tree",
              .version = kRepackVersion,
              .keep = graph::Keep::kStaging,
              .parallel = true,
              .run = RunRepack<TreeToWheel>});
}

}  // namespace ptpkg::pipeline
