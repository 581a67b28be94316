#pragma once
// Cached mirror of a git repository. Layer: source.
//
// - git/<sha256 of the URL>/url: the URL, without credentials
// - git/<sha256 of the URL>/repo.git/: a bare repository with two kinds of refs. refs/ptpkg/commits/<id>
//   marks each whole commit. refs/ptpkg/names/<sha256 of "tag v1" and so on> has the last commit of that
//   name.
// - git/<sha256 of the URL>/.fetch-lock: held by the process that fetches into it
//
// A commit with a ref has all of its files. A killed fetch leaves objects without a ref. Nothing inside a
// mirror is removed, only the whole mirror.

#include <optional>
#include <string>

#include "recipe/recipe.h"
#include "source/git.h"
#include "support/files/lease.h"
#include "support/files/scratch.h"

namespace ptpkg::source {

/// The part of a repository that is requested.
struct GitRequest {
  recipe::GitUrl url;
  std::string commit;
  std::string name =
      {};  ///< "tag v1", "branch main", "rev v1" or "HEAD", if the recipe gives the commit like that.
  std::uint64_t depth = 1;  ///< Commits of history.
  bool lfs = false;
};

class GitMirror {
 public:
  /// Makes the mirror if it is missing. The mirror's lease keeps it from cleanup. Errors: kIo.
  static Result<GitMirror> Open(Env& env, const Git& git, const recipe::GitUrl& url,
                                const std::string& commit);

  [[nodiscard]] const AbsPath& repository() const { return repository_; }
  Result<bool> Has(const GitRequest& wish) const;
  /// Fetches missing objects: only the commit, or all branches and tags if the server sends only named
  /// commits. Errors: any from Git::RunWithRetry, kNotFound (`env.offline`; the server does not have the
  /// commit).
  Result<void> Fetch(const GitRequest& wish);
  /// Compares each LFS file of the commit with the digest in its pointer, which no checkout does. Errors:
  /// kCorrupt.
  Result<void> CheckLfs(const GitRequest& wish) const;
  /// True if git finds any damage in the repository. Reads all of it.
  Result<bool> IsDamaged(const GitRequest& wish) const;
  /// Replaces a damaged repository with a new one that has the wish, once it is fetched. An undamaged one
  /// stays. Errors: as Fetch.
  Result<void> Refetch(const GitRequest& wish);

 private:
  GitMirror(Env& env, const Git& git, AbsPath folder, Lease lease, std::string format)
      : env_(&env),
        git_(&git),
        folder_(std::move(folder)),
        repository_(folder_ / "repo.git"),
        lease_(std::move(lease)),
        format_(std::move(format)) {}
  Result<void> Prepare(const recipe::GitUrl& url);
  Result<TempDir> NewRepository();
  Result<bool> Succeeds(const std::vector<std::string>& args) const;
  Result<void> RemoveStaleLocks();
  Result<void> FetchLocked(const GitRequest& wish);
  Result<bool> FetchCommit(const GitRequest& wish);
  Result<void> FetchAll(const GitRequest& wish);
  Result<void> FetchLfs(const GitRequest& wish);
  Result<void> SetRef(const std::string& name, const std::string& commit);

  Env* env_;
  const Git* git_;
  AbsPath folder_;
  AbsPath repository_;
  Lease lease_;
  std::string format_;
};

/// The commit of `name` at the last fetch, from the cache alone; nullopt if it was never fetched.
Result<std::optional<std::string>> LastFetchedCommit(Env& env, const Git& git, const recipe::GitUrl& url,
                                                     const std::string& name);

}  // namespace ptpkg::source
