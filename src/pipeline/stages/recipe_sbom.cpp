// The bill of materials of a wheel that comes from a recipe: sources and patches as components, tools as the
// means of production. It uses the materials that the plan recorded, not the files, so planning decides its
// content and its key.
//
// Digests over many files, such as the key of all tools, don't belong to one file, so they become properties.
// A patch is a component of its own, and its name is noted at the source that it changes.

#include "pipeline/stages/recipe_sbom.h"

#include "support/text/json.h"
#include "wheel/sbom.h"

namespace ptpkg::pipeline {

namespace {

constexpr std::string_view kMaterials = "the materials of a wheel";

/// A source or tool as MaterialsOfBuild names it: {"name", "version", "digest": {algorithm: text}, "uri"}.
Result<wheel::SbomComponent> ComponentOf(const Json& item, const char* type) {
  wheel::SbomComponent component{.type = type};
  PTPKG_TRY(component.name, JsonString(item, "name", kMaterials));
  PTPKG_TRY(component.version, JsonStringOr(item, "version", "", kMaterials));
  PTPKG_TRY(const std::string uri, JsonStringOr(item, "uri", "", kMaterials));
  if (!item.contains("digest") || !item["digest"].is_object()) return component;
  for (const auto& [algorithm, value] : item["digest"].items()) {
    PTPKG_TRY(const std::string digest, JsonString(item["digest"], algorithm, kMaterials));
    if (algorithm == "sha256") {
      component.hashes.push_back({"SHA-256", digest});
    } else if (algorithm == "gitCommit") {
      component.commit = digest;
    } else {
      component.properties.emplace("ptpkg:" + algorithm, digest);  // digests of many files at once
    }
  }
  constexpr std::string_view kGit = "git+";
  if (uri.starts_with(kGit)) {
    component.repository = uri.substr(kGit.size(), uri.rfind('@') - kGit.size());
  } else {
    component.download = uri;
  }
  return component;
}

Result<std::vector<Json>> ListOf(const Json& materials, const char* key) {
  if (!materials.is_object() || !materials.contains(key) || !materials[key].is_array()) {
    return Error(ErrorCode::kInvalidInput,
                 std::string(kMaterials) + " are not what this version of ptpkg plans");
  }
  return std::vector<Json>(materials[key].begin(), materials[key].end());
}

/// Adds each patch as a file, and its name to the source that it changes.
Result<void> AddPatches(const Json& materials, std::vector<wheel::SbomComponent>& components) {
  PTPKG_TRY(const std::vector<Json> patches, ListOf(materials, "patches"));
  const std::size_t sources = components.size();
  for (const Json& patch : patches) {
    PTPKG_TRY(const std::string name, JsonString(patch, "name", kMaterials));
    PTPKG_TRY(const std::string of, JsonStringOr(patch, "of", "", kMaterials));
    PTPKG_TRY(const std::string sha256, JsonStringOr(patch, "sha256", "", kMaterials));
    for (std::size_t i = 0; i < sources; ++i) {
      if (components[i].name == of) components[i].patches.push_back(name);
    }
    wheel::SbomComponent file{.type = "file", .name = name, .description = "a patch that was applied"};
    if (!sha256.empty()) file.hashes.push_back({"SHA-256", sha256});
    components.push_back(std::move(file));
  }
  return Ok();
}

}  // namespace

Result<std::string> RecipeSbom(const Json& materials, const wheel::CoreMetadata& metadata) {
  wheel::Sbom sbom;
  const std::string name = wheel::NormalizeName(metadata.Get("Name"));
  sbom.subject = {.name = name,
                  .version = metadata.Get("Version"),
                  .purl = wheel::PackageUrl({.type = "pypi",
                                             .name_space = "",
                                             .name = name,
                                             .version = metadata.Get("Version"),
                                             .qualifiers = {}}),
                  .license = metadata.Get("License-Expression")};
  PTPKG_TRY(const std::vector<Json> sources, ListOf(materials, "sources"));
  for (const Json& source : sources) {
    PTPKG_TRY(wheel::SbomComponent component, ComponentOf(source, "file"));
    sbom.components.push_back(std::move(component));
  }
  PTPKG_CHECK(AddPatches(materials, sbom.components));
  PTPKG_TRY(const std::vector<Json> tools, ListOf(materials, "tools"));
  for (const Json& tool : tools) {
    PTPKG_TRY(wheel::SbomComponent component, ComponentOf(tool, "application"));
    sbom.made_with.push_back(std::move(component));
  }
  sbom.tool = {{"ptpkg", PTPKG_VERSION}};
  return wheel::FormatSbom(sbom);
}

}  // namespace ptpkg::pipeline
