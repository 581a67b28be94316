#include "convert/package_metadata.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "conda/info/package_info.h"
#include "model/package_note.h"
#include "support/text/text.h"
#include "wheel/metadata/pep440_version.h"
#include "wheel/wheel_file.h"

namespace ptpkg::convert {

namespace {

void SetUnlessEmpty(std::map<std::string, std::string>& about, const char* key, const std::string& value) {
  if (!value.empty()) about.emplace(key, value);
}

/// The kinds have other names in info/run_exports.json than in a recipe (CEP 12, CEP 14).
void AddRunExports(conda::PackageMetadata& metadata, const recipe::RunExports& exports) {
  const std::map<std::string, const std::vector<recipe::MatchSpec>*> kinds = {
      {"weak", &exports.weak},
      {"strong", &exports.strong},
      {"noarch", &exports.noarch},
      {"weak_constrains", &exports.weak_constraints},
      {"strong_constrains", &exports.strong_constraints}};
  for (const auto& [kind, specs] : kinds) {
    for (const recipe::MatchSpec& spec : *specs) metadata.run_exports[kind].push_back(spec.str());
  }
}

/// ptpkg.json, if the recipe has something to say there.
std::map<std::string, std::string> NoteFiles(const auto& output) {
  const PackageNote note{.allow_unresolved = output.allow_unresolved, .device_code = output.device_code};
  if (note.IsEmpty()) return {};
  return {{std::string(kPackageNoteName), FormatPackageNote(note)}};
}

/// The one tag of a file name that stands for just these. Such a tag stands for the product of its three sets
/// (PEP 425), so it fits only if the product has no further tags. `said` is a part of the product, so
/// comparing the sizes is enough.
Result<wheel::Tag> CompressTags(const std::vector<wheel::Tag>& tags, const std::string& dist_info) {
  std::set<wheel::Tag> said;
  std::set<std::string> python;
  std::set<std::string> abi;
  std::set<std::string> platform;
  for (const wheel::Tag& set : tags) {
    for (const wheel::Tag& tag : wheel::ExpandTag(set)) {
      said.insert(tag);
      python.insert(tag.python);
      abi.insert(tag.abi);
      platform.insert(tag.platform);
    }
  }
  const wheel::Tag all = {.python = fmt::format("{}", fmt::join(python, ".")),
                          .abi = fmt::format("{}", fmt::join(abi, ".")),
                          .platform = fmt::format("{}", fmt::join(platform, "."))};
  if (python.size() * abi.size() * platform.size() == said.size()) return all;
  std::vector<std::string> texts;
  for (const wheel::Tag& tag : said) texts.push_back(tag.str());
  return Error(ErrorCode::kInvalidInput,
               fmt::format(
                   "a file name cannot express exactly the tags of '{}/WHEEL', '{}': '{}' expands to {}",
                   dist_info, Join(texts, "', '"), all.str(), python.size() * abi.size() * platform.size()))
      .WithHint("keep the Tag lines of one wheel in WHEEL, and build another wheel for the rest");
}

}  // namespace

conda::PackageMetadata CondaMetadataOf(const recipe::CondaOutput& output,
                                       const std::vector<std::string>& run_exports) {
  conda::PackageMetadata metadata;
  metadata.name = output.name;
  metadata.version = output.version;
  metadata.build_string = output.build_string;
  metadata.build_number = output.build_number;
  metadata.subdir = output.subdir;
  // CEP 20: installers treat both alike. The second kind keeps the subdir of its machine.
  metadata.noarch_python = output.noarch_python || output.python_version_independent;
  metadata.track_features = output.track_features;
  for (const recipe::MatchSpec& spec : output.run) metadata.depends.push_back(spec.str());
  metadata.depends.insert(metadata.depends.end(), run_exports.begin(), run_exports.end());
  for (const recipe::MatchSpec& spec : output.run_constraints) metadata.constrains.push_back(spec.str());
  AddRunExports(metadata, output.run_exports);
  // Other packages contain the scripts as files.
  if (metadata.noarch_python) metadata.entry_points = output.python_entry_points;
  metadata.license = output.about.license;
  metadata.license_family = output.about.license_family;
  SetUnlessEmpty(metadata.about, "home", output.about.homepage);
  SetUnlessEmpty(metadata.about, "dev_url", output.about.repository);
  SetUnlessEmpty(metadata.about, "doc_url", output.about.documentation);
  SetUnlessEmpty(metadata.about, "summary", output.about.summary);
  SetUnlessEmpty(metadata.about, "description", output.about.description);
  metadata.hash_input = output.hash_input;
  metadata.info_files = NoteFiles(output);
  if (!output.tests_yaml.empty()) metadata.info_files.emplace("tests/tests.yaml", output.tests_yaml);
  return metadata;
}

std::map<std::string, std::string> NoteFilesForZip(const recipe::ZipOutput& output) {
  return NoteFiles(output);
}

std::map<std::string, std::string> NoteFilesForWheel(const conda::PackageInfo& info) {
  const auto note = info.info_files.find(std::string(kPackageNoteName));
  if (note == info.info_files.end()) return {};
  return {*note};
}

Result<WheelDescription> DescribeWheelFile(const Distribution& distribution) {
  if (distribution.wheel.empty()) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' has no WHEEL file", distribution.dist_info))
        .WithHint("install the project with 'pip install --prefix', which keeps WHEEL in .dist-info");
  }
  PTPKG_TRY(const wheel::WheelFile file,
            wheel::ParseWheelFile(distribution.wheel, distribution.dist_info + "/WHEEL"));
  PTPKG_TRY(wheel::Tag tag, CompressTags(file.tags, distribution.dist_info));
  return WheelDescription{.tag = std::move(tag), .root_is_purelib = file.root_is_purelib};
}

Result<Distribution> DistributionOf(Env& env, const recipe::WheelOutput& output, const StagedTree& prefix) {
  // extra.ptpkg.wheel.name is also the new name of the wheel, so it selects only where there is a choice.
  const bool several = DistInfoFolders(prefix).size() > 1;
  PTPKG_TRY(Distribution distribution,
            FindDistribution(env, prefix, several ? output.wheel_name : std::string()));
  PTPKG_TRY(distribution.entry_points, WithScripts(distribution.entry_points, output.python_entry_points),
            "while adding build.python.entry_points");
  return distribution;
}

Result<WheelDescription> WheelDescriptionOf(const recipe::WheelOutput& output,
                                            const Distribution& distribution) {
  PTPKG_TRY(WheelDescription description, DescribeWheelFile(distribution));
  PTPKG_TRY(description.metadata,
            wheel::ParseCoreMetadata(distribution.metadata, distribution.dist_info + "/METADATA"));
  PTPKG_TRY(const wheel::Version said, wheel::ParseVersion(description.metadata.Get("Version")));
  // Build systems can take the version from somewhere else (setuptools_scm from git), and the wheel would get
  // that one.
  wheel::Version built = said;
  PTPKG_TRY(const wheel::Version wanted, wheel::ParseVersion(output.version),
            "while comparing the recipe's version with the built distribution");
  // One conda version stands for "1.4.0+cpu" and "1.4.0+cu130": there the build string tells them apart.
  if (wanted.local.empty()) built.local.clear();
  if (built.str() != wanted.str()) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the built distribution has version '{}', but the recipe has '{}'", said.str(),
                             wanted.str()))
        .WithHint(
            "pass the recipe's version to the build (PKG_VERSION; PYTORCH_BUILD_VERSION for PyTorch), or "
            "correct the recipe");
  }
  // The recipe's name and requirements come last, so that they win over the build's.
  if (!output.wheel_name.empty()) description.metadata.Set("Name", output.wheel_name);
  for (const std::string& requirement : output.wheel_requires) {
    description.metadata.Add("Requires-Dist", requirement);
  }
  description.dist_info = NoteFiles(output);
  return description;
}

}  // namespace ptpkg::convert
