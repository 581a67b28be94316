// Texts below info/. Layer: conda.
#include "conda/info/info_files.h"

#include <fmt/core.h>

#include "conda/info/about_json.h"
#include "conda/info/index_json.h"
#include "support/text/json.h"
#include "versions/match_spec.h"

#ifndef PTPKG_VERSION
#error "the build passes PTPKG_VERSION, the version of the project"
#endif

namespace ptpkg::conda {
namespace {

class InfoBuilder {
 public:
  Result<void> Add(std::string_view name, std::string text) {
    PTPKG_TRY(RelPath path, RelPath::Parse("info/" + std::string(name)));
    return entries_.AddText(std::move(path), std::move(text));
  }
  Result<void> AddJson(std::string_view name, const Json& value) { return Add(name, DumpJson(value)); }
  Result<void> AddFolder(std::string_view folder, const std::map<std::string, std::string>& files) {
    for (const auto& [name, text] : files) {
      // Names come from directories of recipes and sources. Parse refuses "..", so none leaves info/.
      PTPKG_TRY(RelPath path, RelPath::Parse(name),
                fmt::format("while adding '{}' to info/{}", name, folder));
      PTPKG_CHECK(entries_.AddText(RelPath::Literal("info") / folder / path, text));
    }
    return Ok();
  }
  Result<void> AddFiles(const std::map<std::string, std::string>& files) {
    for (const auto& [name, text] : files)
      PTPKG_CHECK(Add(name, text), fmt::format("while adding info/{}", name));
    return Ok();
  }
  archive::EntrySet Take() && { return std::move(entries_); }

 private:
  archive::EntrySet entries_;
};

/// info/files and info/has_prefix are deprecated, but conda-build's tarcheck, conda-verify and old
/// clients still read them.
std::string FilesText(const std::vector<PathsEntry>& paths) {
  std::string text;
  for (const PathsEntry& entry : paths) text += entry.path + "\n";
  return text;
}

/// Fields with a blank are quoted, as conda's shlex.split reads them.
std::string PrefixField(const std::string& text) {
  return text.find(' ') == std::string::npos ? text : "\"" + text + "\"";
}

std::string HasPrefixText(const std::vector<PathsEntry>& paths) {
  std::string text;
  for (const PathsEntry& entry : paths) {
    if (entry.placeholder.empty()) continue;
    text += fmt::format("{} {} {}\n", PrefixField(entry.placeholder), FileModeName(entry.mode),
                        PrefixField(entry.path));
  }
  return text;
}

Result<Json> RunExportsJson(const PackageMetadata& metadata) {
  Json exports = Json::object();
  for (const auto& [kind, specs] : metadata.run_exports) {
    PTPKG_TRY(const auto normal, versions::NormalizeMatchSpecs(specs));
    if (!normal.empty()) exports[kind] = normal;
  }
  return exports;
}

Json LinkJson(const PackageMetadata& metadata) {
  Json noarch = {{"type", "python"}};
  if (!metadata.entry_points.empty()) noarch["entry_points"] = metadata.entry_points;
  return Json{{"package_metadata_version", 1}, {"noarch", std::move(noarch)}};
}

}  // namespace

Result<archive::EntrySet> MakeInfoFiles(const PackageMetadata& metadata, const std::vector<PathsEntry>& paths,
                                        std::int64_t source_date_epoch) {
  PTPKG_CHECK(CheckMetadata(metadata));
  InfoBuilder info;
  PTPKG_TRY(const Json index, MakeIndexJson(metadata, source_date_epoch * 1000));
  PTPKG_CHECK(info.AddJson("index.json", index));
  PTPKG_CHECK(info.AddJson("about.json", MakeAboutJson(metadata)));
  PTPKG_CHECK(info.AddJson("paths.json", MakePathsJson(paths)));
  PTPKG_CHECK(info.Add("files", FilesText(paths)));
  if (std::string text = HasPrefixText(paths); !text.empty())
    PTPKG_CHECK(info.Add("has_prefix", std::move(text)));
  // Anyone can compute the build hash again from this object.
  PTPKG_CHECK(info.AddJson("hash_input.json", *metadata.hash_input));
  if (metadata.noarch_python) PTPKG_CHECK(info.AddJson("link.json", LinkJson(metadata)));
  PTPKG_TRY(const Json run_exports, RunExportsJson(metadata));
  if (!run_exports.empty()) PTPKG_CHECK(info.AddJson("run_exports.json", run_exports));
  // CEP 40 demands this file.
  PTPKG_CHECK(info.AddJson("used_build_tool.json", Json{{"name", "ptpkg"}, {"version", PTPKG_VERSION}}));
  PTPKG_CHECK(info.AddFolder("licenses", metadata.license_files));
  PTPKG_CHECK(info.AddFiles(metadata.info_files));
  return std::move(info).Take();
}

}  // namespace ptpkg::conda
