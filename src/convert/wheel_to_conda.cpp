#include "convert/wheel_to_conda.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "convert/layouts.h"
#include "convert/projects.h"
#include "convert/requirement_map.h"
#include "convert/tree/conda_tree.h"
#include "convert/wheel_target.h"
#include "support/text/text.h"
#include "wheel/metadata/pep440_version.h"
#include "wheel/tag.h"

namespace ptpkg::convert {

namespace {

/// conda-build's placeholder form: 255 characters, so that any install prefix fits.
std::string InstallPlaceholder() {
  std::string placeholder = "/opt/ptpkg";
  while (placeholder.size() < 255) placeholder += "_placehold";
  placeholder.resize(255);
  return placeholder;
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

/// The text of `field`, "" for UNKNOWN: setuptools before 58 wrote that for an empty field.
std::string MeaningfulField(const wheel::CoreMetadata& metadata, const std::string& field) {
  std::string text = metadata.Get(field);
  return Trim(text) == "UNKNOWN" ? std::string() : text;
}

/// SPDX expression, else a short License field, else the last part of a licence classifier.
std::string LicenseOf(const wheel::CoreMetadata& metadata) {
  constexpr std::size_t kLongestName = 100;  // Some projects put the whole text there.
  if (std::string expression = MeaningfulField(metadata, "License-Expression"); !expression.empty())
    return expression;
  std::string license = MeaningfulField(metadata, "License");
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
      {"summary", MeaningfulField(metadata, "Summary")},
      {"description", Trim(metadata.description) == "UNKNOWN" ? "" : metadata.description}};
  if (about["home"].empty()) about["home"] = MeaningfulField(metadata, "Home-page");
  std::erase_if(about, [](const auto& field) { return field.second.empty(); });
  return about;
}

/// Everything below .dist-info/licenses, and older projects' LICENSE*, COPYING* and NOTICE* beside it. One
/// that is there in both places under one name and differs keeps "licenses/".
Result<std::map<std::string, std::string>> LicenseFilesOf(Env& env, const wheel::UnpackedWheel& unpacked) {
  std::map<std::string, std::string> texts;
  std::map<std::string, std::string> beside;
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
    (in_licenses ? texts : beside).emplace(std::move(name), std::move(text));
  }
  for (auto& [name, text] : beside) {
    const auto same = texts.find(name);
    if (same != texts.end() && same->second != text)
      texts.emplace("licenses/" + name, std::move(same->second));
    texts.insert_or_assign(name, std::move(text));
  }
  return texts;
}

Result<elf::RelinkOptions> RelinkOptionsOf(const std::string& layout) {
  elf::RelinkOptions options;
  if (!layout.empty()) {
    PTPKG_TRY(options.rules, BuiltInLayout(layout));
  }
  return options;
}

/// A package keeps WHEEL, and no file name of a wheel: what is made of it later has the tags of WHEEL.
void ReportTags(Env& env, const wheel::WheelInfo& info) {
  const std::set<wheel::Tag> said = wheel::ExpandTags(info.tags);
  if (said.empty() || said == wheel::ExpandTags({info.file_name.tag})) return;
  env.reporter.Warn(
      fmt::format("'{}' has the tag {} in its name but {} in WHEEL, which the package keeps: fix the wheel "
                  "with 'ptpkg check --fix'",
                  info.file_name.str(), info.file_name.tag.str(), wheel::JoinTags(said)));
}

/// Says what the markers of `mapped` became.
void ReportMarkers(Env& env, const MappedRequirements& mapped) {
  for (const std::string& text : mapped.widened) {
    env.reporter.Note(
        fmt::format("'{}' is required for every Python: noarch packages have no markers", text));
  }
  for (const std::string& text : mapped.not_applicable) {
    env.reporter.Note(fmt::format("skipped '{}': its marker is false for this package", text));
  }
}

/// Name, version, build string, dependencies `depends` and entry points.
Result<conda::PackageMetadata> MetadataOf(const wheel::WheelInfo& info, const WheelTarget& target,
                                          const WheelToCondaOptions& options, const CondaNames& names,
                                          std::vector<std::string> depends) {
  const std::string distribution = wheel::NormalizeName(info.metadata.Get("Name"));
  const auto known = names.find(distribution);

  conda::PackageMetadata metadata;
  // Dependencies are mapped by the same table, so that packages for each other find each other.
  metadata.name = known == names.end() ? distribution : known->second.package;
  PTPKG_TRY(metadata.version, wheel::NormalizeVersion(info.metadata.Get("Version")));
  metadata.build_number = options.build_number;
  metadata.subdir = target.subdir;
  metadata.noarch_python = target.noarch;
  metadata.depends = std::move(depends);
  metadata.depends.insert(metadata.depends.end(), target.depends.begin(), target.depends.end());
  if (target.noarch) {
    PTPKG_TRY(const std::vector<wheel::EntryPoint> scripts, ScriptsOf(info.entry_points));
    for (const wheel::EntryPoint& script : scripts) {
      metadata.entry_points.push_back(fmt::format("{} = {}:{}", script.name, script.module, script.object));
    }
  }
  metadata.license = LicenseOf(info.metadata);
  metadata.about = AboutOf(info.metadata);
  return metadata;
}

}  // namespace

Result<WheelAsConda> ConvertWheelToConda(Env& env, const wheel::UnpackedWheel& unpacked,
                                         const WheelToCondaOptions& options, const AbsPath& root) {
  PTPKG_TRY(const WheelTarget target, TargetOf(unpacked.info, options.python));
  WheelAsConda result{.placeholder = InstallPlaceholder()};
  PTPKG_TRY(const CondaNames names, BuiltInCondaNames());
  PTPKG_TRY(MappedRequirements mapped, MapRequirements(unpacked.info.metadata, target.markers, names));
  ReportMarkers(env, mapped);
  ReportTags(env, unpacked.info);
  result.unknown_requirements = std::move(mapped.unknown);
  PTPKG_TRY(result.metadata, MetadataOf(unpacked.info, target, options, names, std::move(mapped.depends)));
  PTPKG_TRY(result.metadata.license_files, LicenseFilesOf(env, unpacked));
  const ProjectCustom custom =
      CustomOf(unpacked.info.metadata, {.python = target.python, .build_number = options.build_number});
  // The first that is not empty: the user's, the project's, conda-forge's usual form.
  result.metadata.build_string = options.build_string;
  if (result.metadata.build_string.empty()) result.metadata.build_string = custom.conda_build_string;
  if (result.metadata.build_string.empty()) {
    result.metadata.build_string = fmt::format("{}_{}", target.build_prefix, options.build_number);
  }
  PTPKG_TRY(result.relink, RelinkOptionsOf(options.layout.empty() ? custom.conda_layout : options.layout));
  PTPKG_TRY(result.tree,
            MakeCondaTreeOfWheel(
                env, unpacked.tree, unpacked.info,
                {.site_packages = target.site_packages, .prefix_placeholder = result.placeholder}, root));
  return result;
}

}  // namespace ptpkg::convert
