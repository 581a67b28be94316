#include "source/source_content.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "recipe/git_url.h"
#include "source/download.h"
#include "source/git_resolve.h"
#include "source/local_tree.h"
#include "source/override.h"
#include "support/text/text.h"

namespace ptpkg::source {

namespace {

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

/// An archive's name does not change its content: mirrors have names of their own.
std::string ArchiveKey(const std::string& digest, const std::string& name) {
  return digest + " " + (IsArchiveName(name) ? "unpacked" : name);
}

Result<std::string> DownloadKey(const recipe::Source& source) {
  PTPKG_TRY(const std::string name, DownloadName(source));
  return ArchiveKey(source.sha256 ? source.sha256->Hex() : "md5 " + source.md5->Hex(), name);
}

}  // namespace

bool IsArchiveName(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kEndings = {".tar",  ".tar.gz", ".tgz", ".tar.bz2",
                                                                ".tbz2", ".tar.xz", ".txz", ".tar.zst",
                                                                ".tzst", ".zip",    ".whl", ".tbz"};
  const std::string lower = ToLower(name);
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return lower.ends_with(ending); });
}

Result<Sources> OriginsOf(const recipe::Recipe& recipe, const SourceOptions& options) {
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
  return Sources{.recipe = recipe, .options = options, .origins = std::move(origins)};
}

Result<std::string> GitKey(const recipe::Source& source) {
  if (!recipe::IsCommitId(source.git.commit)) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the commit of '{}' is not known", recipe::ShownGitUrl(source.git.url)))
        .At(source.span);
  }
  return fmt::format("git {}{}{}", source.git.commit, source.git.submodules ? " submodules" : "",
                     source.git.lfs ? " lfs" : "");
}

std::string NameOfFile(const Origin& origin) {
  const std::string& name = origin.source.file_name;
  return name.empty() ? std::string(origin.local->Name()) : name;
}

std::string FileKey(const Origin& origin, const Digests& digests) {
  return ArchiveKey(digests.sha256.Hex(), NameOfFile(origin));
}

Result<void> CompareDeclared(const Origin& origin, const Digests& digests) {
  const DeclaredDigests declared = DeclaredDigests::Of(origin.source);
  if (declared.Match(digests)) return Ok();
  return Error(ErrorCode::kHashMismatch,
               fmt::format("'{}' has {}", origin.local->str(), declared.Difference(digests)))
      .WithHint("use the file that the recipe declares; if it was replaced on purpose, update the digest")
      .At(origin.source.span);
}

Result<bool> IsFolder(Fs& fs, const recipe::Recipe& recipe, const Origin& origin) {
  const auto stat = fs.Stat(*origin.local);
  if (!stat && stat.error().code() == ErrorCode::kNotFound) return MissingLocal(recipe, origin);
  if (!stat) return stat.error();
  PTPKG_CHECK(RefuseBareRepository(fs, recipe, origin));
  if (stat->kind != FileKind::kDirectory) return false;
  PTPKG_CHECK(RefuseFileKeys(origin));
  return true;
}

Result<std::string> ContentKey(Env& env, const Sources& sources, const Origin& origin) {
  if (!origin.source.git.url.empty()) return GitKey(origin.source);
  if (!origin.local) {
    if (origin.source.sha256 || origin.source.md5) return DownloadKey(origin.source);
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the source '{}' has no sha256", recipe::ShownUrl(origin.source.urls.front())))
        .WithHint("add 'sha256:': without a digest, a download can change between builds")
        .At(origin.source.span);
  }
  PTPKG_TRY(const bool is_folder, IsFolder(env.fs, sources.recipe, origin));
  if (is_folder) {
    PTPKG_TRY(const Sha256 digest, DigestFolder(env, *origin.local, sources.options.left_out));
    return digest.Hex();
  }
  PTPKG_TRY(const Digests digests,
            HashFile(env.fs, *origin.local, DeclaredDigests::Of(origin.source).Choice()));
  PTPKG_CHECK(CompareDeclared(origin, digests));
  return FileKey(origin, digests);
}

}  // namespace ptpkg::source
