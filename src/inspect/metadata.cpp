// Brings the metadata of wheels and conda packages into one form. Fields of an unexpected type count as
// absent, because the checks report them. Old wheels have whole license texts in License, hence only its
// first line is taken, and the newer License-Expression has precedence. A wheel without METADATA gets name
// and version from its file name.

#include "inspect/metadata.h"

#include <fmt/core.h>

#include "support/text/json.h"
#include "support/text/text.h"
#include "wheel/metadata/entry_points.h"

namespace ptpkg::inspect {
namespace {

/// The old License field may hold the whole text.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string TextField(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::vector<std::string> TextsField(const Json& object, const std::string& key) {
  auto texts = JsonStringsOr(object, key, {}, key);
  return texts ? *std::move(texts) : std::vector<std::string>();
}

std::vector<std::string> EntryPointTexts(const std::string& text) {
  std::vector<std::string> texts;
  const auto points = wheel::ParseEntryPoints(text, "entry_points.txt");
  if (!points) return texts;  // the checks report it
  for (const wheel::EntryPoint& point : *points) {
    std::string line = fmt::format("{}: {} = {}", point.group, point.name, point.module);
    if (!point.object.empty()) line += ":" + point.object;
    texts.push_back(std::move(line));
  }
  return texts;
}

/// entry_points of noarch packages, in info/link.json.
std::vector<std::string> LinkEntryPoints(const conda::PackageInfo& info) {
  const auto text = info.info_files.find("link.json");
  if (text == info.info_files.end()) return {};
  const auto link = ParseJson(text->second, "info/link.json");
  if (!link || !link->is_object() || !link->contains("noarch") || !(*link)["noarch"].is_object()) return {};
  std::vector<std::string> texts = TextsField((*link)["noarch"], "entry_points");
  for (std::string& one : texts) one = "console_scripts: " + one;
  return texts;
}

Json NullIfNothing(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

ArtifactMetadata MetadataOfWheel(const WheelDocuments& documents) {
  const wheel::CoreMetadata core = documents.metadata.value_or(wheel::CoreMetadata());
  ArtifactMetadata metadata{.name = core.Get("Name"),
                            .version = core.Get("Version"),
                            .requires_python = core.Get("Requires-Python"),
                            .requires_list = core.GetAll("Requires-Dist"),
                            .extras = core.GetAll("Provides-Extra"),
                            .license = core.Get("License-Expression"),
                            .license_files = core.GetAll("License-File"),
                            .summary = core.Get("Summary"),
                            .entry_points = EntryPointTexts(documents.entry_points)};
  if (metadata.license.empty()) metadata.license = FirstLine(core.Get("License"));
  if (documents.file_name) {
    metadata.build = documents.file_name->build;
    if (!documents.metadata) {
      metadata.name = documents.file_name->name;
      metadata.version = documents.file_name->version;
    }
  }
  if (documents.wheel_file) {
    for (const wheel::Tag& tag : documents.wheel_file->tags) metadata.tags.push_back(tag.str());
    metadata.generator = documents.wheel_file->generator;
  }
  return metadata;
}

ArtifactMetadata MetadataOfConda(const conda::PackageInfo& info) {
  ArtifactMetadata metadata{.name = TextField(info.index, "name"),
                            .version = TextField(info.index, "version"),
                            .build = TextField(info.index, "build"),
                            .subdir = TextField(info.index, "subdir"),
                            .requires_list = TextsField(info.index, "depends"),
                            .constrains = TextsField(info.index, "constrains"),
                            .license = TextField(info.index, "license"),
                            .summary = TextField(info.about, "summary"),
                            .entry_points = LinkEntryPoints(info)};
  for (const auto& [name, text] : info.info_files) {
    constexpr std::string_view kLicenses = "licenses/";
    if (name.starts_with(kLicenses)) metadata.license_files.push_back(name.substr(kLicenses.size()));
  }
  // rattler-build and ptpkg name themselves here, conda-build in about.json.
  const auto tool = info.info_files.find("used_build_tool.json");
  if (tool != info.info_files.end()) {
    const auto said = ParseJson(tool->second, "info/used_build_tool.json");
    if (said) {
      metadata.generator =
          std::string(Trim(fmt::format("{} {}", TextField(*said, "name"), TextField(*said, "version"))));
    }
  }
  if (metadata.generator.empty() && !TextField(info.about, "conda_build_version").empty()) {
    metadata.generator = "conda-build " + TextField(info.about, "conda_build_version");
  }
  return metadata;
}

Json MetadataToJson(const ArtifactMetadata& metadata) {
  return {{"name", NullIfNothing(metadata.name)},
          {"version", NullIfNothing(metadata.version)},
          {"build", NullIfNothing(metadata.build)},
          {"subdir", NullIfNothing(metadata.subdir)},
          {"tags", metadata.tags},
          {"requires_python", NullIfNothing(metadata.requires_python)},
          {"requires", metadata.requires_list},
          {"constrains", metadata.constrains},
          {"extras", metadata.extras},
          {"license", NullIfNothing(metadata.license)},
          {"license_files", metadata.license_files},
          {"summary", NullIfNothing(metadata.summary)},
          {"entry_points", metadata.entry_points},
          {"generator", NullIfNothing(metadata.generator)}};
}

}  // namespace ptpkg::inspect
