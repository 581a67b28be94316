// The wheel is described by the .dist-info that a Python distribution has in the package. conda's own
// metadata can't replace it: index.json has no tags, and its requirements are names of conda packages and not
// of Python's.

#include "convert/conda_to_wheel.h"

#include "conda/info/package_info.h"
#include "convert/layouts.h"
#include "convert/projects.h"
#include "support/text/json.h"

namespace ptpkg::convert {

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

/// The scripts that a noarch package leaves to the installer, "name = module:function".
Result<std::vector<std::string>> EntryPointsOf(const conda::PackageInfo& info) {
  const auto text = info.info_files.find("link.json");
  if (text == info.info_files.end()) return std::vector<std::string>();
  PTPKG_TRY(const Json link, ParseJson(text->second, "info/link.json"));
  const Json noarch = link.is_object() && link.contains("noarch") ? link["noarch"] : Json::object();
  return JsonStringsOr(noarch, "entry_points", {}, "info/link.json");
}

}  // namespace

Result<CondaAsWheel> ConvertCondaToWheel(Env& env, const StagedTree& prefix, const conda::PackageInfo& info,
                                         const CondaToWheelOptions& options, const AbsPath& root) {
  PTPKG_TRY(Distribution distribution, FindDistribution(env, prefix, options.distribution));
  PTPKG_TRY(const std::vector<std::string> scripts, EntryPointsOf(info));
  // A noarch package has no files for its scripts, only their entry points in link.json.
  PTPKG_TRY(distribution.entry_points, WithScripts(distribution.entry_points, scripts));
  CondaAsWheel result{.entry_points = distribution.entry_points, .placeholder = PlaceholderOf(info)};
  PTPKG_TRY(result.description, DescribeWheelFile(distribution));
  PTPKG_TRY(result.description.metadata,
            wheel::ParseCoreMetadata(distribution.metadata, distribution.dist_info + "/METADATA"));
  result.description.metadata_text = distribution.metadata;
  PTPKG_TRY(const wheel::FileName name, wheel::FileName::Of(result.description.metadata));
  PTPKG_TRY(result.tree,
            MakeWheelTree(env, prefix, distribution,
                          {.stem = name.Stem(), .prefix_placeholder = result.placeholder}, root));
  result.tree.dist_info.merge(NoteFilesForWheel(info));
  // A wheel begins at site-packages. Absolute search paths below the package's prefix become relative to
  // that.
  if (!result.placeholder.empty())
    result.relink.build_prefix = result.placeholder + "/" + distribution.site_packages;
  std::string layout = options.layout;
  if (layout.empty()) layout = CustomOf(result.description.metadata, {}).wheel_layout;
  if (!layout.empty()) {
    PTPKG_TRY(result.relink.rules, BuiltInLayout(layout));
  }
  return result;
}

}  // namespace ptpkg::convert
