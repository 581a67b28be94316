#include "convert/tree/tree_to_wheel.h"

#include <fmt/format.h>

#include "convert/layouts.h"
#include "convert/tree/tree_builder.h"
#include "wheel/wheel_file.h"

namespace ptpkg::convert {

namespace {

constexpr std::string_view kDistInfo = ".dist-info";

/// *.dist-info at the top of an unpacked wheel.
std::vector<std::string> TopDistInfos(const StagedTree& tree) {
  std::vector<std::string> folders;
  for (const TreeEntry& entry : tree.entries) {
    const std::string folder = entry.path.ParentText();
    if (entry.path.Name() == "METADATA" && folder.ends_with(kDistInfo) &&
        folder.find('/') == std::string::npos)
      folders.push_back(folder);
  }
  return folders;
}

Result<std::string> TextIn(Env& env, const StagedTree& tree, const std::string& path) {
  if (tree.Find(path) == nullptr) return std::string();
  return ReadFile(env.fs, tree.root / RelPath::Literal(path));
}

Result<Distribution> UnpackedDistribution(Env& env, const StagedTree& tree, const std::string& folder) {
  Distribution found;
  found.dist_info = folder;
  PTPKG_TRY(found.metadata, TextIn(env, tree, folder + "/METADATA"));
  PTPKG_TRY(found.wheel, TextIn(env, tree, folder + "/WHEEL"));
  PTPKG_TRY(found.entry_points, TextIn(env, tree, folder + "/entry_points.txt"));
  return found;
}

/// Directories of another name or version stay where the writer refuses them.
std::string InRenamedData(const std::string& path, const std::string& old_stem, const std::string& stem) {
  const std::string old_folder = old_stem + ".data/";
  return path.starts_with(old_folder) ? stem + ".data/" + path.substr(old_folder.size()) : path;
}

/// Place of the new wheel.
struct NewPlace {
  std::string stem;      ///< "toy-1.0", of its .dist-info and .data.
  bool to_edit = false;  ///< Its files change: links to the old ones.
  AbsPath root;          ///< For links.
};

/// The files beside .dist-info, where they lie; with a layout, links to them, and renamed .data.
Result<WheelTree> UnpackedPayload(Env& env, const StagedTree& tree, const Distribution& distribution,
                                  const NewPlace& place) {
  const std::string folder = distribution.dist_info + "/";
  const std::string old_stem =
      distribution.dist_info.substr(0, distribution.dist_info.size() - kDistInfo.size());
  WheelTree out;
  out.payload.root = tree.root;
  TreeBuilder builder(env, place.root);
  // Links protect the user's directory: an edit splits the link first (elf/), and a rename changes only the
  // new name.
  const bool link = place.to_edit || old_stem != place.stem;
  for (const TreeEntry& entry : tree.entries) {
    const std::string& path = entry.path.str();
    if (path.starts_with(folder)) {
      const std::string name = path.substr(folder.size());
      if (IsInstallerFile(name) || IsRewrittenInWheel(name)) continue;
      PTPKG_TRY(std::string text, ReadFile(env.fs, tree.root / entry.path));
      out.dist_info.emplace(name, std::move(text));
    } else if (link) {
      PTPKG_CHECK(builder.Link(tree, entry, RelPath::Literal(InRenamedData(path, old_stem, place.stem))));
    } else {
      out.payload.entries.push_back(entry);
    }
  }
  if (link) out.payload = std::move(builder).Finish();
  return out;
}

/// One distribution's METADATA, tags, build and scripts.
Result<TreeAsWheel> Described(const Distribution& distribution) {
  TreeAsWheel result{.entry_points = distribution.entry_points};
  PTPKG_TRY(result.description, DescribeWheelFile(distribution));
  PTPKG_TRY(const wheel::WheelFile file,
            wheel::ParseWheelFile(distribution.wheel, distribution.dist_info + "/WHEEL"));
  result.build = file.build;
  PTPKG_TRY(result.description.metadata,
            wheel::ParseCoreMetadata(distribution.metadata, distribution.dist_info + "/METADATA"));
  return result;
}

}  // namespace

bool IsUnpackedWheel(const StagedTree& tree) { return TopDistInfos(tree).size() == 1; }

Result<bool> ContainsDistribution(Env& env, const AbsPath& folder) {
  PTPKG_TRY(const std::vector<std::string> top, env.fs.ListDir(folder));
  const auto holds = [&](const AbsPath& place) -> Result<bool> {
    PTPKG_TRY(const bool there, Exists(env.fs, place));
    if (!there) return false;
    PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(place));
    for (const std::string& name : names) {
      if (!name.ends_with(kDistInfo)) continue;
      PTPKG_TRY(const bool has_metadata, Exists(env.fs, place / name / "METADATA"));
      if (has_metadata) return true;
    }
    return false;
  };
  std::vector<AbsPath> places = {folder, folder / "site-packages"};
  PTPKG_TRY(const bool has_lib, Exists(env.fs, folder / "lib"));
  if (has_lib) {
    PTPKG_TRY(const std::vector<std::string> pythons, env.fs.ListDir(folder / "lib"));
    for (const std::string& python : pythons) {
      if (python.starts_with("python")) places.push_back(folder / "lib" / python / "site-packages");
    }
  }
  for (const AbsPath& place : places) {
    PTPKG_TRY(const bool found, holds(place));
    if (found) return true;
  }
  return false;
}

Result<TreeAsWheel> ConvertTreeToWheel(Env& env, const StagedTree& tree, const TreeToWheelOptions& options,
                                       const AbsPath& root) {
  const std::vector<std::string> top = TopDistInfos(tree);
  if (top.size() > 1) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' has several distributions: {}", tree.root.str(), fmt::join(top, ", ")))
        .WithHint("unpack one wheel into its own directory, or give the prefix in which they are installed");
  }
  // A .dist-info at the top makes an unpacked wheel. Any other directory is a prefix, in which something was
  // installed.
  Distribution distribution;
  if (top.empty()) {
    PTPKG_TRY(distribution, FindDistribution(env, tree, options.distribution));
  } else {
    PTPKG_TRY(distribution, UnpackedDistribution(env, tree, top.front()));
  }
  PTPKG_TRY(TreeAsWheel result, Described(distribution));
  PTPKG_TRY(const wheel::FileName name, wheel::FileName::Of(result.description.metadata));
  if (!top.empty() && !options.distribution.empty() &&
      wheel::NormalizeName(options.distribution) !=
          wheel::NormalizeName(result.description.metadata.Get("Name"))) {
    return Error(ErrorCode::kNotFound,
                 fmt::format("'{}' is the wheel of '{}', not of '{}'", tree.root.str(),
                             result.description.metadata.Get("Name"), options.distribution));
  }
  if (!options.layout.empty()) {
    PTPKG_TRY(result.relink_options.rules, BuiltInLayout(options.layout));
  }
  result.relink = top.empty() || !options.layout.empty();
  if (top.empty()) {
    result.relink_options.build_prefix = tree.root.str() + "/" + distribution.site_packages;
    PTPKG_TRY(result.tree, MakeWheelTree(env, tree, distribution,
                                         {.stem = name.Stem(), .prefix_placeholder = tree.root.str()}, root));
  } else {
    PTPKG_TRY(result.tree, UnpackedPayload(env, tree, distribution,
                                           {.stem = name.Stem(), .to_edit = result.relink, .root = root}));
  }
  return result;
}

}  // namespace ptpkg::convert
