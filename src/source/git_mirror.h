#pragma once
// Cached mirror of a git repository. Layer: source.
//
//   git/<sha256 of the URL>/url            the URL, without credentials
//   git/<sha256 of the URL>/repo.git/      a bare repository; refs/ptpkg/commits/<id> for each whole commit,
//                                          refs/ptpkg/names/<sha256 of "tag v1" and so on>: what it was last
//   git/<sha256 of the URL>/.fetch-lock    held by the one who fetches into it
//
// A commit that has its ref is there with all of its files; who is killed before leaves objects that nobody
// names. Nothing is removed from a mirror but the mirror itself.

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
  /// Makes the mirror if it is missing. While it lives, nobody cleans it away. Errors: kIo.
  static Result<GitMirror> Open(Env& env, const Git& git, const recipe::GitUrl& url,
                                const std::string& commit);

  [[nodiscard]] const AbsPath& repository() const { return repository_; }
  Result<bool> Has(const GitRequest& wish) const;
  /// Asks the server for what is not there: for the commit alone, or, where a server gives only what has a
  /// name, for all branches and tags. Errors: kNotFound (`env.offline`; the server does not have the commit),
  /// those of Git::Ask.
  Result<void> Fetch(const GitRequest& wish);
  /// Compares each LFS file of the commit with the digest in its pointer, which no checkout does. Errors:
  /// kCorrupt.
  Result<void> CheckLfs(const GitRequest& wish) const;
  /// True if git finds any damage in the repository. Reads all of it.
  Result<bool> IsDamaged(const GitRequest& wish) const;
  /// Puts a new repository that has the wish in the place of a damaged one, once it is fetched. One that is
  /// not damaged stays. Errors: those of Fetch.
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

/// The commit that `name` was when it was fetched last, from the cache alone; nullopt if it never was.
Result<std::optional<std::string>> LastFetchedCommit(Env& env, const Git& git, const recipe::GitUrl& url,
                                                     const std::string& name);

}  // namespace ptpkg::source
