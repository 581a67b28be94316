#include "source/prepare.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "archive/extract.h"
#include "recipe/git_url.h"
#include "source/download.h"
#include "source/git_checkout.h"
#include "source/git_resolve.h"
#include "source/local_tree.h"
#include "source/override.h"
#include "source/patch.h"
#include "source/patch_list.h"
#include "source/walk.h"
#include "support/files/atomic_file.h"
#include "support/text/text.h"

namespace ptpkg::source {

namespace {

bool IsArchiveName(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kEndings = {".tar",  ".tar.gz", ".tgz", ".tar.bz2",
                                                                ".tbz2", ".tar.xz", ".txz", ".tar.zst",
                                                                ".tzst", ".zip",    ".whl", ".tbz"};
  const std::string lower = ToLower(name);
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return lower.ends_with(ending); });
}

/// A source after the user's overrides: where it comes from.
struct Origin {
  recipe::Source source;
  std::optional<AbsPath> local;  ///< Folder or file; nullopt for a download.
  bool overridden = false;
};

Result<std::vector<Origin>> Origins(const recipe::Recipe& recipe, const SourceOptions& options) {
  std::vector<Origin> origins;
  for (const recipe::Source& source : recipe.sources) {
    Origin origin{.source = source, .local = std::nullopt};
    if (!source.path.empty()) {
      PTPKG_TRY(AbsPath local, AbsPath::Resolve(recipe.recipe_dir, source.path));
      origin.local = std::move(local);
    }
    origins.push_back(std::move(origin));
  }
  for (const auto& [name, path] : options.overrides) {
    if (!OverrideApplies(recipe, name)) continue;
    if (origins.empty()) origins.emplace_back();
    origins.front().local = path;
    origins.front().overridden = true;
    // The declared name, digest and commit belong to the declared source.
    origins.front().source.file_name.clear();
    origins.front().source.sha256.reset();
    origins.front().source.md5.reset();
    origins.front().source.git = {};
  }
  return origins;
}

Error MissingLocal(const recipe::Recipe& recipe, const Origin& origin) {
  Error error(ErrorCode::kNotFound, fmt::format("the source '{}' of package '{}' does not exist",
                                                origin.local->str(), recipe.name));
  if (origin.overridden) return std::move(error).WithHint("check the path given with --source");
  return std::move(error)
      .WithHint(fmt::format("unpack the release there, or use another directory or archive: --source {}=PATH",
                            recipe.recipe_dir.Name()))
      .At(origin.source.span);
}

/// A bare repository would be copied as it is, and the script would find no sources in it.
Result<void> RefuseBareRepository(Fs& fs, const recipe::Recipe& recipe, const Origin& origin) {
  PTPKG_TRY(const bool bare, IsBareRepository(fs, *origin.local));
  if (!bare) return Ok();
  return Error(ErrorCode::kInvalidInput,
               fmt::format("the source '{}' of package '{}' is a bare git repository", origin.local->str(),
                           recipe.name))
      .WithHint("it has no files to copy: use 'git' instead of 'path', with a tag, branch or rev")
      .At(origin.source.span);
}

/// Keys of a file, where the place turns out to be a directory.
Result<void> RefuseFileKeys(const Origin& origin) {
  const bool has_digest = origin.source.sha256 || origin.source.md5;
  if (!has_digest && origin.source.file_name.empty()) return Ok();
  return Error(ErrorCode::kInvalidInput,
               fmt::format("'{}' is a directory, so '{}' does not apply", origin.local->str(),
                           origin.source.sha256 ? "sha256"
                           : origin.source.md5  ? "md5"
                                                : "file_name"))
      .WithHint("remove the key, or set 'path' to an archive")
      .At(origin.source.span);
}

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

class Preparer {
 public:
  Preparer(Env& env, const recipe::Recipe& recipe, const SourceOptions& options)
      : env_(env), recipe_(recipe), options_(options) {}

  Result<Sha256> Key() {
    PTPKG_TRY(const std::vector<Origin> origins, Origins(recipe_, options_));
    return KeyOf(
        origins, [&](std::size_t i) { return ContentKey(origins[i]); },
        [&](const PatchFile& patch, std::size_t, std::size_t) -> Result<Sha256> {
          PTPKG_TRY(const Digests digests, HashFile(env_.fs, patch.file));
          return digests.sha256;
        });
  }

  Result<void> Check() {
    PTPKG_TRY(const std::vector<Origin> origins, Origins(recipe_, options_));
    for (const Origin& origin : origins) {
      if (origin.local) {
        PTPKG_TRY(const bool is_folder, IsFolder(origin));
        if (!is_folder && (origin.source.sha256 || origin.source.md5)) {
          PTPKG_TRY(const std::string key, ContentKey(origin));
          static_cast<void>(key);
        }
      } else if (origin.source.git.url.empty()) {
        PTPKG_TRY(const std::string key, ContentKey(origin));
        static_cast<void>(key);
      }
      PTPKG_TRY(const std::vector<PatchFile> patches, ListPatches(env_, recipe_, origin.source));
      for (const PatchFile& patch : patches) PTPKG_CHECK(CheckPatch(env_, patch));
    }
    return Ok();
  }

  Result<SourceTree> Run(const AbsPath& destination) {
    PTPKG_TRY(const bool there, Exists(env_.fs, destination));
    if (there) {
      return Error(ErrorCode::kAlreadyExists,
                   fmt::format("the source directory '{}' already exists", destination.str()));
    }
    PTPKG_TRY(const std::vector<Origin> origins, Origins(recipe_, options_));
    PTPKG_TRY(TempDir scratch, TempDir::Create(env_.fs, destination.Parent(), ".sources"));
    scratch_ = scratch.path();
    // Everything is copied and then hashed, once: an edit of the original cannot come between.
    PTPKG_TRY(const Sha256 key, KeyOf(
                                    origins, [&](std::size_t i) { return TakeContent(origins[i], i); },
                                    [&](const PatchFile& patch, std::size_t i, std::size_t j) {
                                      return TakePatch(patch, i, j);
                                    }));
    if (options_.planned && key != *options_.planned) return ChangedMeanwhile(recipe_);
    const AbsPath tree = scratch_ / "tree";
    PTPKG_CHECK(env_.fs.MakeDirs(tree));
    for (std::size_t i = 0; i < origins.size(); ++i) {
      PTPKG_CHECK(env_.cancel.Check());
      PTPKG_CHECK(PlaceSource(origins[i], i, tree));
    }
    PTPKG_CHECK(env_.fs.Rename(tree, destination));
    return SourceTree{.root = destination, .key = key};
  }

 private:
  /// `content` says what an origin holds, `patch` gives the digest of one of its patches.
  template <class Content, class Patch>
  Result<Sha256> KeyOf(const std::vector<Origin>& origins, const Content& content, const Patch& patch) {
    KeyHasher hasher;
    for (std::size_t i = 0; i < origins.size(); ++i) {
      PTPKG_CHECK(env_.cancel.Check());
      const recipe::Source& source = origins[i].source;
      PTPKG_TRY(const std::string held, content(i));
      hasher.Add("content", held);
      hasher.Add("target_directory", source.target_directory);
      for (const std::string& glob : source.filter_include) hasher.Add("include", glob);
      for (const std::string& glob : source.filter_exclude) hasher.Add("exclude", glob);
      PTPKG_TRY(const std::vector<PatchFile> patches, ListPatches(env_, recipe_, source));
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

  [[nodiscard]] AbsPath PartOf(std::size_t i) const { return scratch_ / fmt::format("part-{}", i); }

  /// Key of a commit: its files, and those that may be missing.
  static Result<std::string> GitKey(const recipe::Source& source) {
    if (!recipe::IsCommitId(source.git.commit)) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("the commit of '{}' is not known", recipe::ShownGitUrl(source.git.url)))
          .At(source.span);
    }
    return fmt::format("git {}{}{}", source.git.commit, source.git.submodules ? " submodules" : "",
                       source.git.lfs ? " lfs" : "");
  }

  /// An archive's name does not change its content: mirrors have names of their own.
  static std::string ArchiveKey(const std::string& digest, const std::string& name) {
    return digest + " " + (IsArchiveName(name) ? "unpacked" : name);
  }

  static Result<std::string> DownloadKey(const recipe::Source& source) {
    PTPKG_TRY(const std::string name, DownloadName(source));
    return ArchiveKey(source.sha256 ? source.sha256->Hex() : "md5 " + source.md5->Hex(), name);
  }

  static std::string FileKey(const Origin& origin, const Digests& digests) {
    return ArchiveKey(digests.sha256.Hex(), NameOfFile(origin));
  }

  /// Name of a local file: the recipe's, else its own.
  static std::string NameOfFile(const Origin& origin) {
    const std::string& name = origin.source.file_name;
    return name.empty() ? std::string(origin.local->Name()) : name;
  }

  Result<std::string> ContentKey(const Origin& origin) {
    if (!origin.source.git.url.empty()) return GitKey(origin.source);
    if (!origin.local) {
      if (origin.source.sha256 || origin.source.md5) return DownloadKey(origin.source);
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("the source '{}' has no sha256", recipe::ShownUrl(origin.source.urls.front())))
          .WithHint("add 'sha256:': without a digest, a download can change between builds")
          .At(origin.source.span);
    }
    PTPKG_TRY(const bool is_folder, IsFolder(origin));
    if (is_folder) {
      PTPKG_TRY(const Sha256 digest, DigestFolder(env_, *origin.local, options_.left_out));
      return digest.Hex();
    }
    PTPKG_TRY(const Digests digests,
              HashFile(env_.fs, *origin.local, DeclaredDigests::Of(origin.source).Choice()));
    PTPKG_CHECK(CompareDeclared(origin, digests));
    return FileKey(origin, digests);
  }

  Result<bool> IsFolder(const Origin& origin) {
    const auto stat = env_.fs.Stat(*origin.local);
    if (!stat && stat.error().code() == ErrorCode::kNotFound) return MissingLocal(recipe_, origin);
    if (!stat) return stat.error();
    PTPKG_CHECK(RefuseBareRepository(env_.fs, recipe_, origin));
    if (stat->kind != FileKind::kDirectory) return false;
    PTPKG_CHECK(RefuseFileKeys(origin));
    return true;
  }

  /// Unpacks the origin into its part. Returns ContentKey of what was unpacked.
  Result<std::string> TakeContent(const Origin& origin, std::size_t i) {
    const AbsPath part = PartOf(i);
    PTPKG_CHECK(env_.fs.MakeDirs(part));
    if (!origin.source.git.url.empty()) return TakeCommit(origin.source, part);
    if (!origin.local) {
      PTPKG_TRY(std::string key, ContentKey(origin));
      const Result<Downloaded> download = Download(env_, origin.source);
      if (!download) {
        return download.error().span() ? download.error() : Error(download.error()).At(origin.source.span);
      }
      PTPKG_CHECK(UnpackFile(download->file, std::string(download->file.Name()), part));
      return key;
    }
    PTPKG_TRY(const bool is_folder, IsFolder(origin));
    if (is_folder) return TakeFolder(*origin.local, part);
    const AbsPath folder = scratch_ / fmt::format("file-{}", i);
    PTPKG_CHECK(env_.fs.MakeDirs(folder));
    const AbsPath copy = folder / origin.local->Name();
    PTPKG_CHECK(env_.fs.CopyFile(*origin.local, copy));
    PTPKG_TRY(const Digests digests, HashFile(env_.fs, copy, DeclaredDigests::Of(origin.source).Choice()));
    PTPKG_CHECK(CompareDeclared(origin, digests));
    const Result<void> unpacked = UnpackFile(copy, NameOfFile(origin), part);
    if (!unpacked) return AsErrorOfOriginal(unpacked.error(), copy, *origin.local);
    return FileKey(origin, digests);
  }

  Result<std::string> TakeCommit(const recipe::Source& source, const AbsPath& part) {
    const recipe::GitSource& git = source.git;
    PTPKG_TRY(std::string key, GitKey(source));
    PTPKG_TRY(const recipe::GitUrl url, recipe::ParseGitUrl(git.url, recipe_.recipe_dir));
    const GitCheckout checkout{.wish = {.url = url,
                                        .commit = git.commit,
                                        .name = GitNameOf(git),
                                        .depth = std::max<std::uint64_t>(git.depth, 1),
                                        .lfs = git.lfs},
                               .submodules = git.submodules};
    const Result<void> done = CheckOut(env_, checkout, part);
    if (done) return key;
    return done.error().span() ? done.error() : Error(done.error()).At(source.span);
  }

  Result<Sha256> TakePatch(const PatchFile& patch, std::size_t i, std::size_t j) {
    const AbsPath folder = scratch_ / fmt::format("patch-{}-{}", i, j);
    PTPKG_CHECK(env_.fs.MakeDirs(folder));
    PatchFile copy = patch;
    copy.file = folder / patch.file.Name();
    PTPKG_CHECK(env_.fs.CopyFile(patch.file, copy.file));
    PTPKG_TRY(const Digests digests, HashFile(env_.fs, copy.file));
    patches_[i].push_back(std::move(copy));
    return digests.sha256;
  }

  /// Patches the origin's part and moves it into `tree`.
  Result<void> PlaceSource(const Origin& origin, std::size_t i, const AbsPath& tree) {
    const AbsPath part = PartOf(i);
    PTPKG_CHECK(Filter(origin.source, part));
    for (const PatchFile& patch : patches_[i]) {
      PTPKG_CHECK(env_.cancel.Check());
      PTPKG_CHECK(ApplyPatch(env_, patch, part));
    }
    for (const std::string& entry : origin.source.patches) PTPKG_CHECK(ApplySourcePatch(entry, tree, part));
    AbsPath target = tree;
    if (!origin.source.target_directory.empty()) {
      PTPKG_TRY(const RelPath below, RelPath::Parse(origin.source.target_directory),
                "while placing a source");
      PTPKG_TRY(target, FolderIn(tree, below));
    }
    return MergeInto(env_.fs, part, target);
  }

  /// Removes the files that `filter` leaves out.
  Result<void> Filter(const recipe::Source& source, const AbsPath& part) {
    if (source.filter_include.empty() && source.filter_exclude.empty()) return Ok();
    PTPKG_TRY(const std::vector<WalkEntry> entries, Walk(env_, part));
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
      PTPKG_CHECK(RemoveWithEmptyFolders(part / entry.path, part), "while filtering a source");
    }
    if (kept > 0) return Ok();
    return Error(ErrorCode::kInvalidInput, "'source.filter' leaves out every file of the source")
        .WithHint("globs match paths below the unpacked source: 'src/**'")
        .At(source.span);
  }

  Result<void> RemoveWithEmptyFolders(AbsPath path, const AbsPath& root) {
    PTPKG_CHECK(env_.fs.Remove(path));
    for (path = path.Parent(); path != root; path = path.Parent()) {
      PTPKG_TRY(const std::vector<std::string> names, env_.fs.ListDir(path));
      if (!names.empty()) break;
      PTPKG_CHECK(env_.fs.Remove(path));
    }
    return Ok();
  }

  /// "${SRC_DIR}/fix.patch": a patch that an earlier source has brought.
  Result<void> ApplySourcePatch(const std::string& entry, const AbsPath& tree, const AbsPath& part) {
    if (!entry.starts_with(recipe::kSourceOfPatch)) return Ok();
    PTPKG_TRY(const RelPath name, RelPath::Parse(entry.substr(recipe::kSourceOfPatch.size())));
    const PatchFile patch{.file = tree / name, .shown = name.str()};
    PTPKG_TRY(const bool there, Exists(env_.fs, patch.file));
    if (!there) {
      return Error(ErrorCode::kNotFound,
                   fmt::format("no earlier source has brought the patch '{}'", name.str()))
          .WithHint("list the source that holds the patch before the source that it changes");
    }
    return ApplyPatch(env_, patch, part);
  }

  /// `tree`/`below`, made where it is missing; an earlier source's symlink is not followed.
  Result<AbsPath> FolderIn(const AbsPath& tree, const RelPath& below) {
    AbsPath path = tree;
    for (const std::string& component : below.Components()) {
      path = path / component;
      PTPKG_TRY(const bool there, Exists(env_.fs, path));
      if (!there) {
        PTPKG_CHECK(env_.fs.MakeDirs(path));
        continue;
      }
      PTPKG_TRY(const FileStat stat, env_.fs.Lstat(path));
      if (stat.kind != FileKind::kDirectory) {
        return Error(
            ErrorCode::kInvalidInput,
            fmt::format("target_directory '{}' collides with a file of an earlier source", below.str()));
      }
    }
    return path;
  }

  static Result<void> CompareDeclared(const Origin& origin, const Digests& digests) {
    const DeclaredDigests declared = DeclaredDigests::Of(origin.source);
    if (declared.Match(digests)) return Ok();
    return Error(ErrorCode::kHashMismatch,
                 fmt::format("'{}' has {}", origin.local->str(), declared.Difference(digests)))
        .WithHint("use the file that the recipe declares; if it was replaced on purpose, update the digest")
        .At(origin.source.span);
  }

  Result<std::string> TakeFolder(const AbsPath& folder, const AbsPath& part) {
    Task task(env_.reporter, TaskInfo{.stage = "source", .subject = recipe_.name});
    const Result<Sha256> digest = CopyFolder(env_, folder, part, task, options_.left_out);
    // It was there when it was listed.
    const bool gone = !digest && digest.error().code() == ErrorCode::kNotFound;
    if (gone && options_.planned)
      return ChangedMeanwhile(recipe_).WithContext("while copying a source directory");
    if (!digest) return Error(digest.error()).WithContext("while copying a source directory");
    task.Done("copied");
    return digest->Hex();
  }

  Result<void> UnpackFile(const AbsPath& file, const std::string& name, const AbsPath& part) {
    PTPKG_TRY(const FileStat stat, env_.fs.Stat(file));
    Task task(env_.reporter, TaskInfo{.stage = "source", .subject = name, .total_bytes = stat.size_bytes});
    if (IsArchiveName(name)) {
      PTPKG_CHECK(
          archive::ExtractAny(
              env_, file, part,
              {.limits = {}, .strip_components = 0, .control_characters = true, .strip_single_root = true}),
          fmt::format("while unpacking source '{}'", name));
    } else {
      PTPKG_TRY(const RelPath place, RelPath::Parse(name), "while placing a source");
      PTPKG_CHECK(env_.fs.MakeDirs((part / place).Parent()));
      PTPKG_CHECK(env_.fs.CopyFile(file, part / place));
      PTPKG_CHECK(env_.fs.SetMode(part / place, (stat.mode & 0777U) | 0200U));
    }
    task.Advance(stat.size_bytes);
    task.Done("unpacked");
    return Ok();
  }

  Env& env_;
  const recipe::Recipe& recipe_;
  const SourceOptions& options_;
  AbsPath scratch_ = AbsPath::Literal("/nonexistent");
  std::map<std::size_t, std::vector<PatchFile>> patches_;  // copies, by the number of the source
};

}  // namespace

bool OverrideApplies(const recipe::Recipe& recipe, std::string_view name) {
  if (recipe.inherited != nullptr) return name == recipe.name && !recipe.sources.empty();
  return name == recipe.name || name == recipe.recipe_dir.Name() ||
         (!recipe.recipe_name.empty() && name == recipe.recipe_name);
}

Result<Sha256> SourceKey(Env& env, const recipe::Recipe& recipe, const SourceOptions& options) {
  return Preparer(env, recipe, options).Key();
}

Result<void> CheckInputs(Env& env, const recipe::Recipe& recipe, const SourceOptions& options) {
  return Preparer(env, recipe, options).Check();
}

Result<SourceTree> Prepare(Env& env, const recipe::Recipe& recipe, const SourceOptions& options,
                           const AbsPath& destination) {
  return Preparer(env, recipe, options).Run(destination);
}

}  // namespace ptpkg::source
