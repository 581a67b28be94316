// A tag, branch or HEAD becomes a commit once, while the plan is made, for all variants. If each node asked
// by itself, a branch that moves between two of them would give two packages of different sources.
//
// `ls-remote` asks only for the refs that the name may mean, and the first in git's own order wins: tags
// before branches, and for an annotated tag its commit ("^{}"), not the tag object. Offline,
// `expected_commit` or the commit of the last fetch under that name serves. Names other than tags are
// reported with their commit, because they move.

#include "source/git_resolve.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>

#include "recipe/git_url.h"
#include "source/git.h"
#include "source/git_mirror.h"
#include "source/prepare.h"
#include "support/text/text.h"

namespace ptpkg::source {

namespace {

using recipe::GitSource;
using recipe::GitUrl;
using recipe::ShownGitUrl;

/// Refs that `git` may mean, the best first. An annotated tag's commit has the suffix "^{}".
std::vector<std::string> RefsOf(const GitSource& git) {
  const auto tag = [](const std::string& name) {
    return std::vector<std::string>{"refs/tags/" + name + "^{}", "refs/tags/" + name};
  };
  if (!git.tag.empty()) return tag(git.tag);
  if (!git.branch.empty()) return {"refs/heads/" + git.branch};
  if (git.rev.empty()) return {"HEAD"};
  std::vector<std::string> refs = tag(git.rev);  // as rev-parse: tags before branches
  refs.push_back("refs/heads/" + git.rev);
  if (git.rev.starts_with("refs/")) refs = {git.rev + "^{}", git.rev};
  return refs;
}

std::string RefDescription(const GitSource& git) {
  if (!git.tag.empty()) return fmt::format("the tag '{}'", git.tag);
  if (!git.branch.empty()) return fmt::format("the branch '{}'", git.branch);
  if (!git.rev.empty()) return fmt::format("a tag or branch '{}'", git.rev);
  return "a HEAD that points to a commit";
}

class Resolver {
 public:
  Resolver(Env& env, Git git) : env_(env), git_(std::move(git)) {}

  Result<std::string> Commit(const GitSource& source, const GitUrl& url) {
    // While planning: a missing git-lfs must not show after other sources were fetched.
    if (source.lfs) PTPKG_CHECK(NeedLfs(url));
    if (recipe::IsCommitId(source.rev)) return source.rev;
    const std::string key = GitNameOf(source) + "\n" + url.text;
    auto found = commits_.find(key);
    if (found == commits_.end()) {
      PTPKG_TRY(std::string commit,
                env_.offline && !url.is_local ? Remembered(source, url) : Asked(source, url));
      found = commits_.emplace(key, std::move(commit)).first;
      if (source.tag.empty()) {
        env_.reporter.Note(
            fmt::format("{} of '{}' is commit {}",
                        source.branch.empty() && source.rev.empty() ? "HEAD" : source.branch + source.rev,
                        ShownGitUrl(url.text), found->second));
      }
    }
    if (source.expected_commit.empty() || source.expected_commit == found->second) return found->second;
    return Error(ErrorCode::kHashMismatch,
                 fmt::format("{} of '{}' is commit {}, but the recipe expects {}", GitNameOf(source),
                             ShownGitUrl(url.text), found->second, source.expected_commit))
        .WithHint("if it was moved on purpose, review the change and update 'expected_commit'");
  }

 private:
  Result<void> NeedLfs(const GitUrl& url) {
    if (has_lfs_) return Ok();
    PTPKG_TRY(has_lfs_, git_.Has("lfs"));
    if (has_lfs_) return Ok();
    return Error(ErrorCode::kNotFound,
                 fmt::format("program 'git-lfs' is missing, which the source '{}' needs ('lfs: true')",
                             ShownGitUrl(url.text)))
        .WithHint("install it: apt-get install git-lfs");
  }

  Result<std::string> Remembered(const GitSource& source, const GitUrl& url) {
    if (!source.expected_commit.empty()) return source.expected_commit;  // no other would be taken
    PTPKG_TRY(const std::optional<std::string> known, LastFetchedCommit(env_, git_, url, GitNameOf(source)));
    if (known) return *known;
    return Error(ErrorCode::kNotFound,
                 fmt::format("cannot resolve {} of '{}' offline: it is not in the cache", GitNameOf(source),
                             ShownGitUrl(url.text)))
        .WithHint(
            "build once without --offline, give the commit as 'rev', or use a clone: --source NAME=PATH");
  }

  Result<std::string> Asked(const GitSource& source, const GitUrl& url) {
    const std::vector<std::string> refs = RefsOf(source);
    std::map<std::string, std::string> found;
    GitCall call{.args = {"ls-remote", "--quiet", "--", url.text},
                 .with_user_config = true,
                 .on_line = [&](std::string_view line) {
                   const std::size_t tab = line.find('\t');
                   if (tab == std::string_view::npos || !recipe::IsCommitId(line.substr(0, tab))) return;
                   found.emplace(line.substr(tab + 1), line.substr(0, tab));
                 }};
    call.args.insert(call.args.end(), refs.begin(), refs.end());
    PTPKG_TRY(
        const std::string said,
        git_.RunWithRetry(call, url,
                          fmt::format("cannot list the branches and tags of '{}'", ShownGitUrl(url.text))));
    static_cast<void>(said);
    for (const std::string& ref : refs) {
      if (const auto one = found.find(ref); one != found.end()) return one->second;
    }
    return Error(ErrorCode::kNotFound,
                 fmt::format("'{}' does not have {}", ShownGitUrl(url.text), RefDescription(source)))
        .WithHint(fmt::format("list them: git ls-remote {}", ShownGitUrl(url.text)));
  }

  Env& env_;
  Git git_;
  bool has_lfs_ = false;
  std::map<std::string, std::string> commits_;
};

bool IsReplaced(const recipe::Recipe& recipe, const std::map<std::string, AbsPath>& overrides) {
  return std::any_of(overrides.begin(), overrides.end(),
                     [&](const auto& one) { return OverrideApplies(recipe, one.first); });
}

}  // namespace

std::string GitNameOf(const GitSource& git) {
  if (!git.tag.empty()) return "tag " + git.tag;
  if (!git.branch.empty()) return "branch " + git.branch;
  if (git.rev.empty()) return "HEAD";
  return recipe::IsCommitId(git.rev) ? "" : "rev " + git.rev;
}

Result<void> ResolveGit(Env& env, const std::map<std::string, AbsPath>& overrides,
                        std::vector<recipe::Recipe>& recipes) {
  std::optional<Resolver> resolver;
  for (recipe::Recipe& recipe : recipes) {
    if (recipe.skip) continue;
    for (recipe::Source& source : recipe.sources) {
      // --source replaces only the first source.
      const bool replaced = &source == &recipe.sources.front() && IsReplaced(recipe, overrides);
      if (source.git.url.empty() || replaced) continue;
      if (!resolver) {
        PTPKG_TRY(Git git, Git::Find(env));
        resolver.emplace(env, std::move(git));
      }
      PTPKG_TRY(const GitUrl url, recipe::ParseGitUrl(source.git.url, recipe.recipe_dir));
      auto commit = resolver->Commit(source.git, url);
      if (!commit && commit.error().span()) return commit.error();
      if (!commit) return Error(commit.error()).At(source.span);
      source.git.commit = *std::move(commit);
    }
  }
  return Ok();
}

}  // namespace ptpkg::source
