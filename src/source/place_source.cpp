#include "source/place_source.h"

#include <algorithm>
#include <fmt/core.h>

#include "source/local_tree.h"
#include "source/patch.h"
#include "source/walk.h"
#include "support/text/text.h"

namespace ptpkg::source {

namespace {

Result<void> RemoveWithEmptyFolders(Fs& fs, AbsPath path, const AbsPath& root) {
  PTPKG_CHECK(fs.Remove(path));
  for (path = path.Parent(); path != root; path = path.Parent()) {
    PTPKG_TRY(const std::vector<std::string> names, fs.ListDir(path));
    if (!names.empty()) break;
    PTPKG_CHECK(fs.Remove(path));
  }
  return Ok();
}

/// Removes the files that `filter` leaves out.
Result<void> Filter(Env& env, const recipe::Source& source, const AbsPath& part) {
  if (source.filter_include.empty() && source.filter_exclude.empty()) return Ok();
  PTPKG_TRY(const std::vector<WalkEntry> entries, Walk(env, part));
  const auto matches = [](const std::vector<std::string>& globs, const RelPath& path) {
    return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
      return GlobOrDirectoryMatch(glob, path.str()) ||
             (glob.ends_with('*') && GlobOrDirectoryMatch(glob + "/**", path.str()));
    });
  };
  std::size_t kept = 0;
  for (const WalkEntry& entry : entries) {
    const bool included = source.filter_include.empty() || matches(source.filter_include, entry.path);
    if (included && !matches(source.filter_exclude, entry.path)) {
      ++kept;
      continue;
    }
    PTPKG_CHECK(RemoveWithEmptyFolders(env.fs, part / entry.path, part), "while filtering a source");
  }
  if (kept > 0) return Ok();
  return Error(ErrorCode::kInvalidInput, "'source.filter' leaves out every file of the source")
      .WithHint("globs match paths below the unpacked source: 'src/**'")
      .At(source.span);
}

/// "${SRC_DIR}/fix.patch": a patch that an earlier source has brought.
Result<void> ApplySourcePatch(Env& env, const std::string& entry, const AbsPath& tree, const AbsPath& part) {
  if (!entry.starts_with(recipe::kSourceOfPatch)) return Ok();
  PTPKG_TRY(const RelPath name, RelPath::Parse(entry.substr(recipe::kSourceOfPatch.size())));
  const PatchFile patch{.file = tree / name, .shown = name.str()};
  PTPKG_TRY(const bool there, Exists(env.fs, patch.file));
  if (!there) {
    return Error(ErrorCode::kNotFound,
                 fmt::format("no earlier source has brought the patch '{}'", name.str()))
        .WithHint("list the source that holds the patch before the source that it changes");
  }
  return ApplyPatch(env, patch, part);
}

/// `tree`/`below`, made where it is missing; an earlier source's symlink is not followed.
Result<AbsPath> FolderIn(Fs& fs, const AbsPath& tree, const RelPath& below) {
  AbsPath path = tree;
  for (const std::string& component : below.Components()) {
    path = path / component;
    PTPKG_TRY(const bool there, Exists(fs, path));
    if (!there) {
      PTPKG_CHECK(fs.MakeDirs(path));
      continue;
    }
    PTPKG_TRY(const FileStat stat, fs.Lstat(path));
    if (stat.kind != FileKind::kDirectory) {
      return Error(
          ErrorCode::kInvalidInput,
          fmt::format("target_directory '{}' collides with a file of an earlier source", below.str()));
    }
  }
  return path;
}

}  // namespace

Result<void> PlaceSource(Env& env, const recipe::Source& source, const std::vector<PatchFile>& patches,
                         const AbsPath& part, const AbsPath& tree) {
  PTPKG_CHECK(Filter(env, source, part));
  for (const PatchFile& patch : patches) {
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_CHECK(ApplyPatch(env, patch, part));
  }
  for (const std::string& entry : source.patches) PTPKG_CHECK(ApplySourcePatch(env, entry, tree, part));
  AbsPath target = tree;
  if (!source.target_directory.empty()) {
    PTPKG_TRY(const RelPath below, RelPath::Parse(source.target_directory), "while placing a source");
    PTPKG_TRY(target, FolderIn(env.fs, tree, below));
  }
  return MergeInto(env.fs, part, target);
}

}  // namespace ptpkg::source
