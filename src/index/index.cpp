// Chooses the kind of index by what a folder holds. Layer: index.
#include "index/index.h"

#include <algorithm>
#include <fmt/core.h>

#include "conda/channel_names.h"
#include "index/simple_index/generated_pages.h"

namespace ptpkg::index {
namespace {

/// True if a subdir of `root` holds a package or an index.
Result<bool> HoldsCondaSubdir(Env& env, const AbsPath& root, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!conda::IsSubdir(name)) continue;
    PTPKG_TRY(const FileStat stat, env.fs.Stat(root / name));
    if (stat.kind != FileKind::kDirectory) continue;
    PTPKG_TRY(const std::vector<std::string> files, env.fs.ListDir(root / name));
    const bool found = std::any_of(files.begin(), files.end(), [](const std::string& file) {
      return file == "repodata.json" || conda::DistName::Parse(file).has_value();
    });
    if (found) return true;
  }
  return false;
}

/// Whether an earlier run made a simple index of wheels there: they may all be gone by now.
Result<bool> HoldsWheelIndex(Env& env, const AbsPath& root) {
  const AbsPath pages = root / "simple";
  const auto stat = env.fs.Lstat(pages);
  if (!stat || stat->kind != FileKind::kDirectory) return false;
  PTPKG_TRY(const OwnPages own, FindOwnPages(env, pages));
  return own.Any();
}

}  // namespace

Result<IndexSummary> IndexFolder(Env& env, const AbsPath& root, bool roots) {
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(root));
  PTPKG_TRY(const bool has_roots, HoldsWheelRoots(env, root, names, roots));
  PTPKG_TRY(const bool has_index, HoldsWheelIndex(env, root));
  const bool has_wheels = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.ends_with(ArtifactExtension(ArtifactFormat::kWheel));
  });
  const bool wheels = has_wheels || has_roots || has_index;
  PTPKG_TRY(const bool conda, HoldsCondaSubdir(env, root, names));
  if (wheels && conda) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' holds both {} and conda subdirs", root.str(),
                                                       has_wheels ? "wheels" : "an index of wheels"))
        .WithHint("keep wheels and conda packages in folders of their own");
  }
  if (wheels) return IndexWheels(env, root, {.roots = roots});
  if (conda && roots) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' is a conda channel, which has no index of a backend", root.str()))
        .WithHint("leave --per-backend out: conda tells backends apart by build strings");
  }
  if (conda) return IndexConda(env, root);
  const bool loose = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return conda::DistName::Parse(name).has_value();
  });
  return Error(ErrorCode::kInvalidInput,
               fmt::format("'{}' holds neither wheels nor conda packages", root.str()))
      .WithHint(loose ? "put the conda packages into a subdir, 'linux-64' or 'noarch'"
                      : "name a folder with .whl files, or one with subdirs such as 'linux-64' that hold "
                        "conda packages");
}

}  // namespace ptpkg::index
