// The writers of an index list the files of certain directories with certain names. This looks at the other
// entries of the same tree, one level deep, and finds those that look like packages: their owner expects them
// in the index. Names that begin with '.' are files in the making, or not for clients.

#include "index/misplaced_files.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "conda/channel_names.h"
#include "index/conda_channel/skipped_packages.h"
#include "support/text/text.h"

namespace ptpkg::index {
namespace {

bool HasExtension(const std::string& name, ArtifactFormat format) {
  return !name.starts_with('.') && ToLower(name).ends_with(ArtifactExtension(format));
}

bool LooksLikeWheel(const std::string& name) { return HasExtension(name, ArtifactFormat::kWheel); }

bool LooksLikeCondaPackage(const std::string& name) {
  return HasExtension(name, ArtifactFormat::kConda) || HasExtension(name, ArtifactFormat::kTarBz2);
}

SkippedPackage Misplaced(const AbsPath& path, std::string reason) {
  return {.package = path, .reason = Error(ErrorCode::kInvalidInput, std::move(reason))};
}

constexpr const char* kInNoSubdir = "it is not in a subdir, such as 'linux-64' or 'noarch'";

/// The packages in a directory of `root`; none if another thing has the name.
Result<std::vector<SkippedPackage>> FindBelow(Env& env, const AbsPath& root, const std::string& name) {
  std::vector<SkippedPackage> found;
  const AbsPath path = root / RelPath::Literal(name);
  const bool is_subdir = conda::IsSubdir(name);
  PTPKG_TRY(const std::optional<FileStat> stat, FollowLink(env, path));
  if (!stat) {
    PTPKG_TRY(const bool there, Exists(env.fs, path));
    if (there && is_subdir) found.push_back(Misplaced(path, "the link leads nowhere"));
    return found;
  }
  if (stat->kind != FileKind::kDirectory) return found;
  const auto files = env.fs.ListDir(path);
  if (!files) return is_subdir ? Result<std::vector<SkippedPackage>>(files.error()) : found;
  for (const std::string& file : *files) {
    const AbsPath package = path / RelPath::Literal(file);
    if (is_subdir && LooksLikeWheel(file))
      found.push_back(Misplaced(package, "a conda channel does not list wheels"));
    if (!is_subdir && LooksLikeCondaPackage(file)) found.push_back(Misplaced(package, kInNoSubdir));
  }
  return found;
}

void Append(std::vector<SkippedPackage>& all, std::vector<SkippedPackage> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

}  // namespace

Result<std::vector<SkippedPackage>> FindMisplacedInChannel(Env& env, const AbsPath& root,
                                                           const std::vector<std::string>& names) {
  std::vector<SkippedPackage> found;
  for (const std::string& name : names) {
    const AbsPath path = root / RelPath::Literal(name);
    if (LooksLikeCondaPackage(name)) {
      found.push_back(Misplaced(path, kInNoSubdir));
    } else if (LooksLikeWheel(name)) {
      found.push_back(Misplaced(path, "a conda channel does not list wheels"));
    } else if (!name.starts_with('.')) {
      PTPKG_TRY(std::vector<SkippedPackage> below, FindBelow(env, root, name));
      Append(found, std::move(below));
    }
  }
  return found;
}

std::vector<SkippedPackage> FindMisplacedBesideWheels(const AbsPath& root,
                                                      const std::vector<std::string>& names) {
  std::vector<SkippedPackage> found;
  for (const std::string& name : names) {
    if (LooksLikeCondaPackage(name))
      found.push_back(
          Misplaced(root / RelPath::Literal(name), "an index of wheels does not list conda packages"));
  }
  return found;
}

Result<std::vector<SkippedPackage>> FindUnusable(Env& env, const AbsPath& root,
                                                 const std::vector<std::string>& names) {
  std::vector<SkippedPackage> found;
  for (const std::string& name : names) {
    const AbsPath path = root / RelPath::Literal(name);
    if (LooksLikeWheel(name)) found.push_back(Misplaced(path, "its name does not end in '.whl'"));
    if (!conda::IsSubdir(name)) continue;
    PTPKG_TRY(const std::optional<FileStat> stat, FollowLink(env, path));
    if (!stat || stat->kind != FileKind::kDirectory) continue;
    PTPKG_TRY(const std::vector<std::string> files, env.fs.ListDir(path));
    for (const std::string& file : files) {
      const auto parsed = conda::DistName::Parse(file);
      if (LooksLikeCondaPackage(file) && !parsed)
        found.push_back({.package = path / RelPath::Literal(file), .reason = parsed.error()});
    }
  }
  // The conda packages in wrong places; wheels in a channel are not looked for, since this is not a channel.
  PTPKG_TRY(std::vector<SkippedPackage> misplaced, FindMisplacedInChannel(env, root, names));
  std::erase_if(misplaced,
                [](const SkippedPackage& one) { return LooksLikeWheel(std::string(one.package.Name())); });
  Append(found, std::move(misplaced));
  return found;
}

void SkipMisplaced(Env& env, const std::vector<SkippedPackage>& misplaced, IndexSummary& summary) {
  for (const SkippedPackage& one : misplaced) SkipPackage(env, one.package, one.reason, summary);
  std::sort(
      summary.left_out.begin(), summary.left_out.end(),
      [](const SkippedPackage& left, const SkippedPackage& right) { return left.package < right.package; });
}

}  // namespace ptpkg::index
