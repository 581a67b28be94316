// Conda packages of a wheel. Layer: pipeline.

#include <algorithm>
#include <fmt/core.h>

#include "channel/index.h"
#include "conda/package.h"
#include "convert/conda_tree.h"
#include "convert/relink_tree.h"
#include "convert/requirement_map.h"
#include "convert/wheel_target.h"
#include "elf/layouts.h"
#include "pipeline/checked_publish.h"
#include "pipeline/repack.h"
#include "pipeline/stage_timer.h"
#include "pipeline/work_folder.h"
#include "support/text.h"
#include "wheel/requirement.h"
#include "wheel/wheel.h"

namespace ptpkg::pipeline {

namespace {

constexpr std::string_view kPytorchLayout = "pytorch-conda";

/// conda-build's placeholder form: 255 characters, so that any install prefix fits.
std::string InstallPlaceholder() {
  std::string placeholder = "/opt/ptpkg";
  while (placeholder.size() < 255) placeholder += "_placehold";
  placeholder.resize(255);
  return placeholder;
}

/// The exact version that a requirement on one of `names` pins, "" if none.
std::string PinnedVersion(const wheel::CoreMetadata& metadata, const std::vector<std::string>& prefixes) {
  for (const std::string& text : metadata.GetAll("Requires-Dist")) {
    const auto requirement = wheel::ParseRequirement(text);
    if (!requirement || requirement->specifiers.size() != 1 || requirement->specifiers[0].first != "==")
      continue;
    const std::string name = wheel::NormalizeName(requirement->name);
    const bool wanted = std::any_of(prefixes.begin(), prefixes.end(),
                                    [&](const std::string& prefix) { return name.starts_with(prefix); });
    if (wanted) return requirement->specifiers[0].second;
  }
  return "";
}

/// "py3.11_cuda13.2.2_cudnn9.26.0.51_0" or "py3.11_cpu_0": how the pytorch channel names its builds.
std::string PytorchBuildString(const wheel::CoreMetadata& metadata, const convert::WheelTarget& target,
                               std::uint64_t build_number) {
  const std::string cuda = PinnedVersion(metadata, {"cuda-toolkit", "nvidia-cuda-runtime"});
  const std::string cudnn = PinnedVersion(metadata, {"nvidia-cudnn"});
  std::string backend = cuda.empty() ? "cpu" : "cuda" + cuda;
  if (!cuda.empty() && !cudnn.empty()) backend += "_cudnn" + cudnn;
  return fmt::format("py{}_{}_{}", target.python, backend, build_number);
}

/// Well-known labels of PEP 753 and their usual spellings.
std::string ProjectUrl(const wheel::CoreMetadata& metadata, const std::vector<std::string>& labels) {
  for (const std::string& value : metadata.GetAll("Project-URL")) {
    const std::size_t comma = value.find(',');
    if (comma == std::string::npos) continue;
    const std::string label = ToLower(Trim(std::string_view(value).substr(0, comma)));
    if (std::find(labels.begin(), labels.end(), label) != labels.end()) {
      return std::string(Trim(std::string_view(value).substr(comma + 1)));
    }
  }
  return "";
}

/// SPDX expression, else a short License field, else the last part of a licence classifier.
std::string LicenseOf(const wheel::CoreMetadata& metadata) {
  constexpr std::size_t kLongestName = 100;  // Some projects put the whole text there.
  if (const auto expression = metadata.Get("License-Expression"); !expression.empty())
    return std::string(expression);
  std::string license = metadata.Get("License");
  if (!license.empty() && license.size() <= kLongestName && license.find('\n') == std::string::npos)
    return license;
  for (const std::string& classifier : metadata.GetAll("Classifier")) {
    if (classifier.starts_with("License ::"))
      return std::string(Trim(classifier.substr(classifier.rfind(':') + 1)));
  }
  // The first line of a full text names the licence as a rule.
  return license.substr(0, std::min(license.find('\n'), kLongestName));
}

std::map<std::string, std::string> AboutOf(const wheel::CoreMetadata& metadata) {
  std::map<std::string, std::string> about = {
      {"home", ProjectUrl(metadata, {"homepage", "home"})},
      {"dev_url", ProjectUrl(metadata, {"repository", "source", "source code", "github", "code"})},
      {"doc_url", ProjectUrl(metadata, {"documentation", "docs"})},
      {"summary", metadata.Get("Summary")},
      {"description", metadata.description}};
  if (about["home"].empty()) about["home"] = metadata.Get("Home-page");
  std::erase_if(about, [](const auto& field) { return field.second.empty(); });
  return about;
}

/// Everything below .dist-info/licenses, and older projects' LICENSE*, COPYING* and NOTICE* beside it.
Result<std::map<std::string, std::string>> LicenseFilesOf(Env& env, const wheel::UnpackedWheel& unpacked) {
  std::map<std::string, std::string> texts;
  const std::string folder = unpacked.info.dist_info_dir + "/";
  for (const TreeEntry& entry : unpacked.tree.entries) {
    if (!entry.path.str().starts_with(folder)) continue;
    std::string name = entry.path.str().substr(folder.size());
    const bool in_licenses = name.starts_with("licenses/");
    if (in_licenses) name = name.substr(std::string_view("licenses/").size());
    const bool by_name = name.starts_with("LICENSE") || name.starts_with("LICENCE") ||
                         name.starts_with("COPYING") || name.starts_with("NOTICE");
    if (!in_licenses && !by_name) continue;
    PTPKG_TRY(std::string text, ReadFile(env.fs, unpacked.tree.root / entry.path));
    texts.emplace(std::move(name), std::move(text));
  }
  return texts;
}

class WheelRepacker {
 public:
  WheelRepacker(Env& env, const RepackRequest& request) : env_(env), request_(request) {}

  Result<RepackSummary> Run() {
    PTPKG_TRY(publish::OutputFolder output,
              publish::OutputFolder::Open(env_, request_.output, request_.force));
    PTPKG_TRY(const TempDir work, MakeWorkFolder(env_));
    PTPKG_TRY(const wheel::UnpackedWheel unpacked, Unpack(work.path() / "wheel"));
    PTPKG_TRY(const convert::WheelTarget target, convert::TargetOf(unpacked.info, request_.python));
    PTPKG_TRY(conda::PackageMetadata metadata, MetadataOf(unpacked, target));

    const std::string placeholder = InstallPlaceholder();
    const AbsPath root = work.path() / "conda";
    PTPKG_CHECK(env_.fs.MakeDirs(root));
    PTPKG_TRY(StagedTree tree,
              convert::MakeCondaTreeOfWheel(
                  env_, unpacked.tree, unpacked.info,
                  {.site_packages = target.site_packages, .prefix_placeholder = placeholder}, root));
    PTPKG_TRY(const elf::RelinkOptions relink, RelinkOptionsOf(metadata.name));
    PTPKG_CHECK(convert::RelinkTree(env_, tree, relink, metadata.FileStem()));
    PTPKG_CHECK(convert::AddInstalledRecords(env_, tree, tree));
    PTPKG_TRY(const TempDir pack_folder, output.MakePackFolder());
    StageTimer timer(env_, summary_.build, "conda", metadata.FileStem());
    // Payload bytes that happen to hold the placeholder cannot exist: it was made up here, for scripts.
    PTPKG_TRY(const std::vector<Artifact> artifacts,
              conda::WritePackages(
                  env_,
                  {.metadata = metadata,
                   .tree = tree,
                   .prefix_placeholder = placeholder,
                   .binary_placeholders = false},
                  pack_folder.path(),
                  {.conda = Wants(ArtifactFormat::kConda), .tar_bz2 = Wants(ArtifactFormat::kTarBz2)}));
    timer.Ran("new artifact");
    PTPKG_TRY([[maybe_unused]] const auto records,
              CheckAndPublish(env_, output, artifacts, {.subdir = metadata.subdir, .inputs = inputs_},
                              summary_.build));
    PTPKG_TRY([[maybe_unused]] const auto index, channel::IndexConda(env_, output.CondaRoot()));
    PTPKG_CHECK(output.WriteManifest(summary_.build.artifacts, summary_.build.stages));
    return std::move(summary_);
  }

 private:
  Result<wheel::UnpackedWheel> Unpack(const AbsPath& folder) {
    PTPKG_CHECK(env_.fs.MakeDirs(folder));
    const std::string name(request_.input.Name());
    StageTimer timer(env_, summary_.build, "unpack", name);
    PTPKG_TRY(wheel::UnpackedWheel unpacked, wheel::UnpackWheelTree(env_, request_.input, folder));
    inputs_.emplace("wheel", unpacked.info.directory_digest.Hex());
    timer.Ran("");
    return unpacked;
  }

  Result<conda::PackageMetadata> MetadataOf(const wheel::UnpackedWheel& unpacked,
                                            const convert::WheelTarget& target) {
    const wheel::WheelInfo& info = unpacked.info;
    PTPKG_TRY(const convert::CondaNames names, convert::BuiltInCondaNames());
    PTPKG_TRY(convert::MappedRequirements mapped,
              convert::MapRequirements(info.metadata, target.markers, names));
    summary_.unknown_requirements = mapped.unknown;
    const std::string distribution = wheel::NormalizeName(info.metadata.Get("Name"));
    const auto known = names.find(distribution);

    conda::PackageMetadata metadata;
    metadata.name = known == names.end() ? distribution : known->second.package;
    metadata.version = ReplaceAll(info.metadata.Get("Version"), "-", "_");
    metadata.build_number = request_.build_number;
    metadata.subdir = target.subdir;
    metadata.noarch_python = target.noarch;
    metadata.depends = std::move(mapped.depends);
    metadata.depends.insert(metadata.depends.end(), target.depends.begin(), target.depends.end());
    metadata.license = LicenseOf(info.metadata);
    metadata.about = AboutOf(info.metadata);
    PTPKG_TRY(metadata.license_files, LicenseFilesOf(env_, unpacked));
    metadata.build_string = request_.build_string;
    if (metadata.build_string.empty()) {
      metadata.build_string = LayoutName(metadata.name) == kPytorchLayout
                                  ? PytorchBuildString(info.metadata, target, request_.build_number)
                                  : fmt::format("{}_{}", target.build_prefix, request_.build_number);
    }
    return metadata;
  }

  [[nodiscard]] std::string LayoutName(const std::string& conda_name) const {
    if (!request_.layout.empty()) return request_.layout;
    return conda_name == "pytorch" ? std::string(kPytorchLayout) : "";
  }

  Result<elf::RelinkOptions> RelinkOptionsOf(const std::string& conda_name) {
    elf::RelinkOptions options;
    const std::string layout = LayoutName(conda_name);
    if (!layout.empty()) {
      PTPKG_TRY(options.rules, elf::BuiltInLayout(layout));
    }
    return options;
  }

  [[nodiscard]] bool Wants(ArtifactFormat format) const {
    return request_.formats.empty() || request_.formats.contains(format);
  }

  Env& env_;
  const RepackRequest& request_;
  RepackSummary summary_;
  std::map<std::string, std::string> inputs_;
};

}  // namespace

Result<RepackSummary> WheelToConda(Env& env, const RepackRequest& request) {
  return WheelRepacker(env, request).Run();
}

}  // namespace ptpkg::pipeline
