#include "convert/conda_to_wheel.h"

#include "conda/package_info.h"
#include "convert/layouts.h"
#include "convert/projects.h"
#include "support/json.h"

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

}  // namespace

Result<CondaAsWheel> ConvertCondaToWheel(Env& env, const StagedTree& prefix, const conda::PackageInfo& info,
                                         const CondaToWheelOptions& options, const AbsPath& root) {
  PTPKG_TRY(const Distribution distribution, FindDistribution(env, prefix, options.distribution));
  CondaAsWheel result{.entry_points = distribution.entry_points, .placeholder = PlaceholderOf(info)};
  PTPKG_TRY(result.description, DescribeWheelFile(distribution));
  PTPKG_TRY(result.description.metadata,
            wheel::ParseCoreMetadata(distribution.metadata, distribution.dist_info + "/METADATA"));
  PTPKG_TRY(result.tree,
            MakeWheelTree(env, prefix, distribution, {.prefix_placeholder = result.placeholder}, root));
  result.tree.dist_info.merge(CarriedNotes(info));
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
