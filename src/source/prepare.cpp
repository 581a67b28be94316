// Everything is first copied into a scratch directory, and hashed there: an edit of the original cannot come
// between. Then each part is filtered, patched and merged into the tree, which gets its name at the end.

#include "source/prepare.h"

#include <algorithm>
#include <fmt/core.h>

#include "archive/extract.h"
#include "recipe/git_url.h"
#include "source/download.h"
#include "source/git_checkout.h"
#include "source/git_resolve.h"
#include "source/local_tree.h"
#include "source/patch.h"
#include "source/patch_list.h"
#include "source/place_source.h"
#include "source/source_content.h"
#include "support/files/atomic_file.h"
#include "support/text/text.h"

namespace ptpkg::source {

namespace {

/// `error` of a copy, which is in no place that a person knows, as one of the file that was copied.
Error AsErrorOfOriginal(const Error& error, const AbsPath& copy, const AbsPath& original) {
  const auto named = [&](const std::string& text) { return ReplaceAll(text, copy.str(), original.str()); };
  Error same(error.code(), named(error.message()));
  if (error.span()) same = std::move(same).At(*error.span());
  for (const std::string& frame : error.context()) same = std::move(same).WithContext(named(frame));
  return std::move(same).WithHint(named(error.hint())).WithErrno(error.sys_errno());
}

/// Error for sources that were written to while they were copied.
Error ChangedMeanwhile(const recipe::Recipe& recipe) {
  return Error(ErrorCode::kRefused, fmt::format("the sources of '{}' changed after planning", recipe.name))
      .WithHint("run the command again; don't edit sources during a build");
}

/// Key of all sources. `content(i)` gives the key of the content of source i, `patch(file, i, j)` the digest
/// of its patch j. Both are called in order, once each.
template <class Content, class Patch>
Result<Sha256> KeyOf(Env& env, const Sources& sources, const Content& content, const Patch& patch) {
  KeyHasher hasher;
  for (std::size_t i = 0; i < sources.origins.size(); ++i) {
    PTPKG_CHECK(env.cancel.Check());
    const recipe::Source& source = sources.origins[i].source;
    PTPKG_TRY(const std::string held, content(i));
    hasher.Add("content", held);
    hasher.Add("target_directory", source.target_directory);
    for (const std::string& glob : source.filter_include) hasher.Add("include", glob);
    for (const std::string& glob : source.filter_exclude) hasher.Add("exclude", glob);
    PTPKG_TRY(const std::vector<PatchFile> patches, ListPatches(env, sources.recipe, source));
    for (const std::string& entry : source.patches) {
      if (entry.starts_with(recipe::kSourceOfPatch)) hasher.Add("patch of a source", entry);
    }
    for (std::size_t j = 0; j < patches.size(); ++j) {
      const PatchFile& one = patches[j];
      PTPKG_TRY(const Sha256 digest, patch(one, i, j), fmt::format("while reading patch '{}'", one.shown));
      hasher.Add("patch", digest.Hex());
      if (one.strip) hasher.Add("strip", std::to_string(*one.strip));
      if (one.reverse) hasher.Add("reverse", "");
    }
  }
  return hasher.Finish();
}

Result<std::string> TakeCommit(Env& env, const AbsPath& recipe_dir, const recipe::Source& source,
                               const AbsPath& part) {
  const recipe::GitSource& git = source.git;
  PTPKG_TRY(std::string key, GitKey(source));
  PTPKG_TRY(const recipe::GitUrl url, recipe::ParseGitUrl(git.url, recipe_dir));
  const GitCheckout checkout{.wish = {.url = url,
                                      .commit = git.commit,
                                      .name = GitNameOf(git),
                                      .depth = std::max<std::uint64_t>(git.depth, 1),
                                      .lfs = git.lfs},
                             .submodules = git.submodules};
  const Result<void> done = CheckOut(env, checkout, part);
  if (done) return key;
  return done.error().span() ? done.error() : Error(done.error()).At(source.span);
}

Result<std::string> TakeFolder(Env& env, const Sources& sources, const AbsPath& folder, const AbsPath& part) {
  Task task(env.reporter, TaskInfo{.stage = "source", .subject = sources.recipe.name});
  const Result<Sha256> digest = CopyFolder(env, folder, part, task, sources.options.left_out);
  // It was there when it was listed.
  const bool gone = !digest && digest.error().code() == ErrorCode::kNotFound;
  if (gone && sources.options.planned)
    return ChangedMeanwhile(sources.recipe).WithContext("while copying a source directory");
  if (!digest) return Error(digest.error()).WithContext("while copying a source directory");
  task.Done("copied");
  return digest->Hex();
}

Result<void> UnpackFile(Env& env, const AbsPath& file, const std::string& name, const AbsPath& part) {
  PTPKG_TRY(const FileStat stat, env.fs.Stat(file));
  Task task(env.reporter, TaskInfo{.stage = "source", .subject = name, .total_bytes = stat.size_bytes});
  if (IsArchiveName(name)) {
    PTPKG_CHECK(
        archive::ExtractAny(
            env, file, part,
            {.limits = {}, .strip_components = 0, .control_characters = true, .strip_single_root = true}),
        fmt::format("while unpacking source '{}'", name));
  } else {
    PTPKG_TRY(const RelPath place, RelPath::Parse(name), "while placing a source");
    PTPKG_CHECK(env.fs.MakeDirs((part / place).Parent()));
    PTPKG_CHECK(env.fs.CopyFile(file, part / place));
    PTPKG_CHECK(env.fs.SetMode(part / place, (stat.mode & 0777U) | 0200U));
  }
  task.Advance(stat.size_bytes);
  task.Done("unpacked");
  return Ok();
}

/// Copies a local file to `folder`, which must not exist, and unpacks it from there.
Result<std::string> TakeFile(Env& env, const Origin& origin, const AbsPath& folder, const AbsPath& part) {
  PTPKG_CHECK(env.fs.MakeDirs(folder));
  const AbsPath copy = folder / origin.local->Name();
  PTPKG_CHECK(env.fs.CopyFile(*origin.local, copy));
  PTPKG_TRY(const Digests digests, HashFile(env.fs, copy, DeclaredDigests::Of(origin.source).Choice()));
  PTPKG_CHECK(CompareDeclared(origin, digests));
  const Result<void> unpacked = UnpackFile(env, copy, NameOfFile(origin), part);
  if (!unpacked) return AsErrorOfOriginal(unpacked.error(), copy, *origin.local);
  return FileKey(origin, digests);
}

AbsPath PartOf(const AbsPath& scratch, std::size_t i) { return scratch / fmt::format("part-{}", i); }

/// Unpacks source `i` into its part of `scratch`. Returns ContentKey of what was unpacked.
Result<std::string> TakeContent(Env& env, const Sources& sources, std::size_t i, const AbsPath& scratch) {
  const Origin& origin = sources.origins[i];
  const AbsPath part = PartOf(scratch, i);
  PTPKG_CHECK(env.fs.MakeDirs(part));
  if (!origin.source.git.url.empty()) return TakeCommit(env, sources.recipe.recipe_dir, origin.source, part);
  if (!origin.local) {
    PTPKG_TRY(std::string key, ContentKey(env, sources, origin));
    const Result<Downloaded> download = Download(env, origin.source);
    if (!download) {
      return download.error().span() ? download.error() : Error(download.error()).At(origin.source.span);
    }
    PTPKG_CHECK(UnpackFile(env, download->file, std::string(download->file.Name()), part));
    return key;
  }
  PTPKG_TRY(const bool is_folder, IsFolder(env.fs, sources.recipe, origin));
  if (is_folder) return TakeFolder(env, sources, *origin.local, part);
  return TakeFile(env, origin, scratch / fmt::format("file-{}", i), part);
}

struct TakenPatch {
  PatchFile copy;
  Sha256 digest;
};

/// Copies a patch to `folder`, which must not exist.
Result<TakenPatch> TakePatch(Fs& fs, const PatchFile& patch, const AbsPath& folder) {
  PTPKG_CHECK(fs.MakeDirs(folder));
  PatchFile copy = patch;
  copy.file = folder / patch.file.Name();
  PTPKG_CHECK(fs.CopyFile(patch.file, copy.file));
  PTPKG_TRY(const Digests digests, HashFile(fs, copy.file));
  return TakenPatch{.copy = std::move(copy), .digest = digests.sha256};
}

/// Copies of all sources and patches in a scratch directory.
struct TakenSources {
  Sha256 key;                                   ///< SourceKey of the copies.
  std::vector<std::vector<PatchFile>> patches;  ///< Copies, by source.
};

Result<TakenSources> TakeSources(Env& env, const Sources& sources, const AbsPath& scratch) {
  std::vector<std::vector<PatchFile>> copies(sources.origins.size());
  const auto take_patch = [&](const PatchFile& patch, std::size_t i, std::size_t j) -> Result<Sha256> {
    PTPKG_TRY(TakenPatch taken, TakePatch(env.fs, patch, scratch / fmt::format("patch-{}-{}", i, j)));
    copies[i].push_back(std::move(taken.copy));
    return taken.digest;
  };
  const auto take_content = [&](std::size_t i) { return TakeContent(env, sources, i, scratch); };
  PTPKG_TRY(const Sha256 key, KeyOf(env, sources, take_content, take_patch));
  return TakenSources{.key = key, .patches = std::move(copies)};
}

}  // namespace

bool OverrideApplies(const recipe::Recipe& recipe, std::string_view name) {
  if (recipe.inherited != nullptr) return name == recipe.name && !recipe.sources.empty();
  return name == recipe.name || name == recipe.recipe_dir.Name() ||
         (!recipe.recipe_name.empty() && name == recipe.recipe_name);
}

Result<Sha256> SourceKey(Env& env, const recipe::Recipe& recipe, const SourceOptions& options) {
  PTPKG_TRY(const Sources sources, OriginsOf(recipe, options));
  const auto content = [&](std::size_t i) { return ContentKey(env, sources, sources.origins[i]); };
  const auto patch = [&](const PatchFile& file, std::size_t, std::size_t) -> Result<Sha256> {
    PTPKG_TRY(const Digests digests, HashFile(env.fs, file.file));
    return digests.sha256;
  };
  return KeyOf(env, sources, content, patch);
}

Result<void> CheckInputs(Env& env, const recipe::Recipe& recipe, const SourceOptions& options) {
  PTPKG_TRY(const Sources sources, OriginsOf(recipe, options));
  for (const Origin& origin : sources.origins) {
    bool has_key = origin.source.git.url.empty();
    if (origin.local) {
      PTPKG_TRY(const bool is_folder, IsFolder(env.fs, recipe, origin));
      has_key = !is_folder && (origin.source.sha256 || origin.source.md5);
    }
    if (has_key) {
      PTPKG_TRY(const std::string key, ContentKey(env, sources, origin));
      static_cast<void>(key);
    }
    PTPKG_TRY(const std::vector<PatchFile> patches, ListPatches(env, recipe, origin.source));
    for (const PatchFile& patch : patches) PTPKG_CHECK(CheckPatch(env, patch));
  }
  return Ok();
}

Result<SourceTree> Prepare(Env& env, const recipe::Recipe& recipe, const SourceOptions& options,
                           const AbsPath& destination) {
  PTPKG_TRY(const bool there, Exists(env.fs, destination));
  if (there) {
    return Error(ErrorCode::kAlreadyExists,
                 fmt::format("the source directory '{}' already exists", destination.str()));
  }
  PTPKG_TRY(const Sources sources, OriginsOf(recipe, options));
  PTPKG_TRY(TempDir scratch, TempDir::Create(env.fs, destination.Parent(), ".sources"));
  PTPKG_TRY(const TakenSources taken, TakeSources(env, sources, scratch.path()));
  if (options.planned && taken.key != *options.planned) return ChangedMeanwhile(recipe);
  const AbsPath tree = scratch.path() / "tree";
  PTPKG_CHECK(env.fs.MakeDirs(tree));
  for (std::size_t i = 0; i < sources.origins.size(); ++i) {
    PTPKG_CHECK(env.cancel.Check());
    const AbsPath part = PartOf(scratch.path(), i);
    PTPKG_CHECK(PlaceSource(env, sources.origins[i].source, taken.patches[i], part, tree));
  }
  PTPKG_CHECK(env.fs.Rename(tree, destination));
  return SourceTree{.root = destination, .key = taken.key};
}

}  // namespace ptpkg::source
