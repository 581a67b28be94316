// Chooses the kind of index by the content of a directory. Layer: index.
//
// Wheels at the top, directories of backends, or pages of an earlier run make a simple index, and subdirs
// with packages make a conda channel. A directory with both is refused, since neither client could use all
// of it. Pages of an earlier run count even without wheels: the last wheel may be gone, and its pages must
// go too.

#include "index/index.h"

#include <algorithm>
#include <fmt/core.h>

#include "conda/channel_names.h"
#include "index/conda_channel/skipped_packages.h"
#include "index/misplaced_files.h"
#include "index/simple_index/generated_pages.h"

namespace ptpkg::index {
namespace {

/// True if a subdir of `root` holds a package or an index.
Result<bool> HasCondaSubdir(Env& env, const AbsPath& root, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!conda::IsSubdir(name)) continue;
    PTPKG_TRY(const std::optional<FileStat> stat, FollowLink(env, root / name));
    if (!stat || stat->kind != FileKind::kDirectory) continue;
    PTPKG_TRY(const std::vector<std::string> files, env.fs.ListDir(root / name));
    const bool found = std::any_of(files.begin(), files.end(), [](const std::string& file) {
      return file == "repodata.json" || conda::DistName::Parse(file).has_value();
    });
    if (found) return true;
  }
  return false;
}

/// True if an earlier run made a simple index of wheels there: they may all be gone by now.
Result<bool> HasWheelIndex(Env& env, const AbsPath& root) {
  const AbsPath pages = root / "simple";
  const auto stat = env.fs.Lstat(pages);
  if (!stat || stat->kind != FileKind::kDirectory) return false;
  PTPKG_TRY(const GeneratedPages own, FindGeneratedPages(env, pages));
  return own.Any();
}

Result<void> RefuseChannelParts(const AbsPath& root, const ChannelParts& parts) {
  const auto error = [&](std::string_view part) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' is a directory of wheels, which has no {}", root.str(), part));
  };
  if (parts.shards) {
    return error("shards").WithHint("remove --shards: installers read one page for each project anyway");
  }
  if (parts.current_repodata) {
    return error("current_repodata.json").WithHint("remove --current-repodata");
  }
  if (parts.patch) {
    return error("patch instructions").WithHint("remove --patch: use 'ptpkg yank' to take a wheel back");
  }
  return Ok();
}

/// Names the first of the files that look like packages.
Error NothingToIndex(Env& env, const AbsPath& root, const std::vector<std::string>& names) {
  const bool loose = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return conda::DistName::Parse(name).has_value();
  });
  std::string message = fmt::format("'{}' has no wheels or conda packages", root.str());
  if (const auto unusable = FindUnusable(env, root, names); unusable && !unusable->empty()) {
    const SkippedPackage& first = unusable->front();
    message += fmt::format("; '{}' is not used: {}", first.package.str(), first.reason.message());
  }
  return Error(ErrorCode::kInvalidInput, std::move(message))
      .WithHint(loose ? "move the conda packages into a subdir, 'linux-64' or 'noarch'"
                      : "give a directory with .whl files, or with subdirs such as 'linux-64' that contain "
                        "conda packages");
}

}  // namespace

Result<IndexSummary> IndexFolder(Env& env, const AbsPath& root, const FolderIndexOptions& options) {
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(root));
  PTPKG_TRY(const bool has_roots, HasBackendDirectories(env, root, names, options.roots));
  PTPKG_TRY(const bool has_index, HasWheelIndex(env, root));
  const bool has_wheels = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.ends_with(ArtifactExtension(ArtifactFormat::kWheel));
  });
  const bool wheels = has_wheels || has_roots || has_index;
  PTPKG_TRY(const bool conda, HasCondaSubdir(env, root, names));
  if (wheels && conda) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' contains both {} and conda subdirs", root.str(),
                                                       has_wheels ? "wheels" : "an index of wheels"))
        .WithHint("keep wheels and conda packages in separate directories");
  }
  if (wheels) PTPKG_CHECK(RefuseChannelParts(root, options.channel));
  if (wheels) {
    PTPKG_TRY(IndexSummary summary, IndexWheels(env, root, {.roots = options.roots}));
    SkipMisplaced(env, FindMisplacedBesideWheels(root, names), summary);
    return summary;
  }
  if (conda && options.roots) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' is a conda channel, which has no backend indexes", root.str()))
        .WithHint("remove --per-backend: conda distinguishes backends by build strings");
  }
  if (conda) {
    PTPKG_TRY(IndexSummary summary,
              IndexConda(env, root, {.known = {}, .without = {}, .parts = options.channel}));
    PTPKG_TRY(const std::vector<SkippedPackage> misplaced, FindMisplacedInChannel(env, root, names));
    SkipMisplaced(env, misplaced, summary);
    return summary;
  }
  return NothingToIndex(env, root, names);
}

}  // namespace ptpkg::index
