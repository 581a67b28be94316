// A wheel of a conda package. Layer: pipeline.

#include <fmt/core.h>

#include "channel/index.h"
#include "conda/package.h"
#include "conda/package_info.h"
#include "convert/package_metadata.h"
#include "convert/relink_tree.h"
#include "convert/wheel_tree.h"
#include "elf/layouts.h"
#include "pipeline/checked_publish.h"
#include "pipeline/repack.h"
#include "pipeline/stage_timer.h"
#include "pipeline/work_folder.h"
#include "support/json.h"
#include "wheel/requirement.h"

namespace ptpkg::pipeline {

namespace {

/// The first placeholder that paths.json names; packages have one.
std::string PlaceholderOf(const conda::PackageInfo& info) {
  if (!info.paths.is_object() || !info.paths.contains("paths")) return "";
  for (const Json& path : info.paths["paths"]) {
    if (path.contains("prefix_placeholder") && path["prefix_placeholder"].is_string()) {
      return path["prefix_placeholder"].get<std::string>();
    }
  }
  return "";
}

/// The layout under which PyTorch ships wheels for the CUDA that the requirements name.
std::string PytorchWheelLayout(const wheel::CoreMetadata& metadata) {
  std::string layout = "pytorch-wheel-cpu";
  for (const std::string& text : metadata.GetAll("Requires-Dist")) {
    const auto requirement = wheel::ParseRequirement(text);
    if (!requirement) continue;
    const std::string name = wheel::NormalizeName(requirement->name);
    if (name.ends_with("-cu12")) return "pytorch-wheel-cuda12";
    if (name.ends_with("-cu13") || name == "cuda-toolkit") layout = "pytorch-wheel-cuda13";
    if (name.starts_with("rocm") || name.starts_with("pytorch-triton-rocm")) return "pytorch-wheel-rocm";
  }
  return layout;
}

class CondaRepacker {
 public:
  CondaRepacker(Env& env, const RepackRequest& request) : env_(env), request_(request) {}

  Result<RepackSummary> Run() {
    PTPKG_TRY(publish::OutputFolder output,
              publish::OutputFolder::Open(env_, request_.output, request_.force));
    PTPKG_TRY(const TempDir work, MakeWorkFolder(env_));
    PTPKG_TRY(const StagedTree prefix, Unpack(work.path() / "prefix"));
    PTPKG_TRY(const convert::Distribution distribution,
              convert::FindDistribution(env_, prefix, request_.distribution));
    PTPKG_TRY(convert::WheelDescription description, convert::DescribeWheelFile(distribution));
    PTPKG_TRY(description.metadata,
              wheel::ParseCoreMetadata(distribution.metadata, distribution.dist_info + "/METADATA"));

    const AbsPath root = work.path() / "wheel";
    PTPKG_CHECK(env_.fs.MakeDirs(root));
    PTPKG_TRY(convert::WheelTree tree,
              convert::MakeWheelTree(env_, prefix, distribution, {.prefix_placeholder = placeholder_}, root));
    PTPKG_TRY(const elf::RelinkOptions relink, RelinkOptionsOf(description.metadata, distribution));
    const std::string subject(request_.input.Name());
    PTPKG_CHECK(convert::RelinkTree(env_, tree.payload, relink, subject));
    PTPKG_TRY(const TempDir pack_folder, output.MakePackFolder());
    StageTimer timer(env_, summary_.build, "wheel", subject);
    PTPKG_TRY(const Artifact artifact, wheel::WriteWheel(env_,
                                                         {.metadata = description.metadata,
                                                          .tag = description.tag,
                                                          .root_is_purelib = description.root_is_purelib,
                                                          .entry_points = distribution.entry_points,
                                                          .tree = tree.payload,
                                                          .dist_info = tree.dist_info},
                                                         pack_folder.path()));
    timer.Ran("new artifact");
    PTPKG_TRY(
        [[maybe_unused]] const auto records,
        CheckAndPublish(env_, output, {artifact},
                        {.check = {.forbidden_paths = Forbidden()}, .inputs = inputs_}, summary_.build));
    PTPKG_TRY([[maybe_unused]] const auto index, channel::IndexWheels(env_, output.WheelRoot()));
    PTPKG_CHECK(output.WriteManifest(summary_.build.artifacts, summary_.build.stages));
    return std::move(summary_);
  }

 private:
  Result<StagedTree> Unpack(const AbsPath& folder) {
    PTPKG_CHECK(env_.fs.MakeDirs(folder));
    const std::string name(request_.input.Name());
    StageTimer timer(env_, summary_.build, "unpack", name);
    PTPKG_TRY(const conda::PackageInfo info, conda::UnpackPackage(env_, request_.input, folder, {}));
    PTPKG_TRY(StagedTree tree, ScanTree(env_, folder));
    placeholder_ = PlaceholderOf(info);
    inputs_.emplace("package", HashText(info.paths.dump()).Hex());
    timer.Ran("");
    return tree;
  }

  /// A placeholder is replaced by conda at install; nobody does that for a wheel.
  [[nodiscard]] std::vector<std::string> Forbidden() const {
    return placeholder_.empty() ? std::vector<std::string>{} : std::vector<std::string>{placeholder_};
  }

  Result<elf::RelinkOptions> RelinkOptionsOf(const wheel::CoreMetadata& metadata,
                                             const convert::Distribution& distribution) {
    elf::RelinkOptions options;
    if (!placeholder_.empty()) options.build_prefix = placeholder_ + "/" + distribution.site_packages;
    std::string layout = request_.layout;
    if (layout.empty() && wheel::NormalizeName(metadata.Get("Name")) == "torch")
      layout = PytorchWheelLayout(metadata);
    if (!layout.empty()) {
      PTPKG_TRY(options.rules, elf::BuiltInLayout(layout));
    }
    return options;
  }

  Env& env_;
  const RepackRequest& request_;
  RepackSummary summary_;
  std::string placeholder_;
  std::map<std::string, std::string> inputs_;
};

}  // namespace

Result<RepackSummary> CondaToWheel(Env& env, const RepackRequest& request) {
  return CondaRepacker(env, request).Run();
}

}  // namespace ptpkg::pipeline
