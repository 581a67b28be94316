// The clones are the user's own: git works in them with the user's configuration, and nothing is checked out
// over changed files, or away from commits that only a detached HEAD holds. So an update first looks at all
// clones and fetches into all, and changes the first one only then.

#include "pipeline/develop/source_clones.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <utility>

#include "pipeline/develop/clone_files.h"
#include "pipeline/develop/clone_git.h"
#include "pipeline/develop/clone_submodules.h"
#include "source/git_resolve.h"
#include "support/files/scratch.h"
#include "support/text/plural.h"
#include "support/text/text.h"
#include "versions/conda_version.h"

namespace ptpkg::pipeline {

namespace {

std::string RefOf(const recipe::GitSource& git) {
  std::string name = source::GitNameOf(git);
  return name.empty() ? "commit " + git.rev : name;
}

constexpr const char* kDefaultBranch = "refs/remotes/origin/HEAD";

/// The refs of a clone that `git` may mean, in the order of source::ResolveGit. A branch is the server's, not
/// one of the user or of `git clone`.
std::vector<std::string> RefsOf(const recipe::GitSource& git) {
  const std::string remote = "refs/remotes/origin/";
  if (!git.tag.empty()) return {"refs/tags/" + git.tag};
  if (!git.branch.empty()) return {remote + git.branch};
  if (git.rev.empty()) return {kDefaultBranch};
  constexpr std::string_view kHeads = "refs/heads/";
  if (git.rev.starts_with(kHeads)) return {remote + git.rev.substr(kHeads.size())};
  if (git.rev.starts_with("refs/") || recipe::IsCommitId(git.rev)) return {git.rev};
  return {"refs/tags/" + git.rev, remote + git.rev};
}

Error TwoSources(const WantedSource& one, const WantedSource& other) {
  const bool is_one_recipe = one.recipe == other.recipe;
  return Error(ErrorCode::kUsage, fmt::format("two sources have the clone '{}': {} of '{}', and {} of '{}'",
                                              one.name, RefOf(one.git), recipe::ShownGitUrl(one.url.text),
                                              RefOf(other.git), recipe::ShownGitUrl(other.url.text)))
      .WithHint(is_one_recipe ? "leave one of them with --select, or give each a 'target_directory'"
                              : "name one recipe at a time, each with another --into");
}

/// Adds the git source of `recipe`, or replaces the one of an older version.
Result<void> AddSourceOf(const recipe::Recipe& recipe, const AbsPath& input,
                         std::vector<WantedSource>& sources) {
  for (const recipe::Source& source : recipe.sources) {
    if (source.git.url.empty()) continue;
    PTPKG_TRY(recipe::GitUrl url, recipe::ParseGitUrl(source.git.url, recipe.recipe_dir));
    const std::string& base = recipe.recipe_name.empty() ? recipe.name : recipe.recipe_name;
    const std::string name =
        source.target_directory.empty() ? base : base + "-" + ReplaceAll(source.target_directory, "/", "-");
    WantedSource wanted{
        .name = name, .version = recipe.version, .recipe = input, .git = source.git, .url = std::move(url)};
    const auto known = std::ranges::find(sources, name, &WantedSource::name);
    if (known == sources.end()) {
      sources.push_back(std::move(wanted));
      continue;
    }
    const auto order = versions::CompareVersions(known->version, wanted.version);
    const bool is_same = known->git == wanted.git && known->url == wanted.url;
    if (!is_same && (order == 0 || known->recipe != input)) return TwoSources(*known, wanted);
    if (order < 0) *known = std::move(wanted);
  }
  return Ok();
}

Result<std::vector<WantedSource>> WantedSources(Env& env, const SourcesRequest& request) {
  std::vector<WantedSource> sources;
  for (const AbsPath& input : request.render.recipes) {
    RenderRequest one = request.render;
    one.recipes = {input};
    PTPKG_TRY(const std::vector<recipe::Recipe> recipes, Render(env, one));
    bool has_source = false;
    for (const recipe::Recipe& recipe : recipes) {
      for (const recipe::Recipe* part = &recipe; part != nullptr && !recipe.skip;
           part = part->inherited.get()) {
        has_source |=
            std::ranges::any_of(part->sources, [](const auto& source) { return !source.git.url.empty(); });
        PTPKG_CHECK(AddSourceOf(*part, input, sources));
      }
    }
    if (has_source) continue;
    return Error(ErrorCode::kUsage, fmt::format("no selected variant of '{}' has a git source", input.str()))
        .WithHint("'ptpkg render' lists the variants; a source without 'git' is fetched by 'ptpkg build'");
  }
  return sources;
}

Error LacksRef(const SourceClone& clone, const WantedSource& source) {
  const std::string url = recipe::ShownGitUrl(source.url.text);
  return Error(ErrorCode::kNotFound, fmt::format("'{}' does not have {}", url, clone.ref))
      .WithHint(fmt::format("list the branches and tags: git ls-remote {}", url));
}

class Clones {
 public:
  Clones(Env& env, source::Git git, const AbsPath& folder) : git_(env, std::move(git)), folder_(folder) {}

  [[nodiscard]] const CloneGit& git() const { return git_; }
  [[nodiscard]] AbsPath PathOf(const WantedSource& source) const { return folder_ / source.name; }

  /// True for a repository, not for a directory inside one.
  [[nodiscard]] bool Has(const WantedSource& source) const {
    return git_.env().fs.Lstat(PathOf(source) / ".git").has_value();
  }

  /// The commit of the first of `refs` that the clone has; "": of none.
  Result<std::string> CommitOf(const AbsPath& clone, const std::vector<std::string>& refs) const {
    for (const std::string& ref : refs) {
      PTPKG_TRY(const ExitStatus status,
                git_.Run(clone, {"rev-parse", "--verify", "--quiet", ref + "^{commit}"}));
      if (status.ok()) return std::string(Trim(status.output));
    }
    return std::string();
  }

  Result<SourceClone> Look(const WantedSource& source) const {
    SourceClone clone{.name = source.name, .path = PathOf(source), .ref = RefOf(source.git)};
    if (!Has(source)) return clone;
    PTPKG_CHECK(RequireOrigin(clone.path, source));
    PTPKG_TRY(clone.wanted, CommitOf(clone.path, RefsOf(source.git)));
    PTPKG_TRY(clone.commit, git_.Read(clone.path, {"rev-parse", "HEAD"}));
    PTPKG_CHECK(LookAtFiles(git_, source.git.submodules, clone));
    return clone;
  }

  /// Fetches the branches, the new tags and the source's own tag, and sets `wanted`.
  Result<void> Fetch(const WantedSource& source, SourceClone& clone) const {
    PTPKG_CHECK(
        git_.Fetch(clone.path, source, {"fetch", "--prune", "--no-prune-tags", "origin"}, "fetch from"));
    std::vector<std::string> refs = RefsOf(source.git);
    const std::string first = refs.front();
    if (first == kDefaultBranch) {
      PTPKG_CHECK(git_.Fetch(clone.path, source, {"remote", "set-head", "origin", "--auto"},
                             "ask for the default branch of"));
    } else if (first.starts_with("refs/tags/")) {
      // Without --force: a tag that moved may be the only one that holds a commit of the user.
      Result<void> fetched =
          git_.Fetch(clone.path, source, {"fetch", "origin", first + ":" + first}, "fetch from");
      if (!fetched && fetched.error().code() != ErrorCode::kNotFound) return fetched;
      if (!fetched) refs.erase(refs.begin());  // the clone may still have it
    }
    PTPKG_TRY(clone.wanted, CommitOf(clone.path, refs));
    if (clone.wanted.empty()) return LacksRef(clone, source);
    return Ok();
  }

  /// Checks out `wanted` with all submodules, and notes what changed.
  Result<void> CheckOut(const WantedSource& source, SourceClone& clone) const {
    for (const UnfinishedCheckout& one : clone.unfinished) PTPKG_CHECK(Finish(source, one));
    PTPKG_CHECK(
        git_.Read(clone.path, {"checkout", "--quiet", "--no-overwrite-ignore", "--detach", clone.wanted}));
    if (source.git.submodules) PTPKG_CHECK(UpdateSubmodules(git_, source, clone.path));
    clone.before = std::exchange(clone.commit, clone.wanted);
    clone.unready.clear();
    if (clone.before.empty() || clone.before == clone.commit) return Ok();
    return Compare(clone);
  }

 private:
  /// Completes a checkout: LookAtFiles found that it loses nothing.
  Result<void> Finish(const WantedSource& source, const UnfinishedCheckout& one) const {
    PTPKG_TRY(const bool known, git_.HasCommit(one.folder, one.commit));
    if (!known) PTPKG_CHECK(git_.Fetch(one.folder, source, {"fetch", "origin"}, "fetch the submodules of"));
    PTPKG_CHECK(git_.Read(one.folder, {"checkout", "--quiet", "--force", "--detach", one.commit}));
    return Ok();
  }

  Result<void> RequireOrigin(const AbsPath& clone, const WantedSource& source) const {
    PTPKG_TRY(const std::string origin, git_.Origin(clone));
    if (recipe::HostAndPath(origin) == recipe::HostAndPath(source.url.text)) return Ok();
    const std::string wanted = recipe::ShownGitUrl(source.url.text);
    const std::string found = origin.empty() ? "has no remote 'origin'"
                                             : fmt::format("is a clone of '{}'", recipe::ShownGitUrl(origin));
    return Error(ErrorCode::kRefused,
                 fmt::format("'{}' {}, but its recipe names '{}'", clone.str(), found, wanted))
        .WithHint(fmt::format("git -C {} remote {} origin {}", ShellQuote({clone.str()}),
                              origin.empty() ? "add" : "set-url", ShellQuote({wanted})));
  }

  Result<void> Compare(SourceClone& clone) const {
    PTPKG_TRY(const std::string count,
              git_.Read(clone.path, {"rev-list", "--count", clone.before + ".." + clone.commit}));
    std::from_chars(count.data(), count.data() + count.size(), clone.commits);
    PTPKG_TRY(const std::string raw,
              git_.Lines(clone.path, {"diff", "--raw", "--no-renames", clone.before, clone.commit}));
    for (const std::string& line : SplitLines(raw)) {
      ++clone.files;
      const std::size_t tab = line.find('\t');
      const bool is_submodule = line.starts_with(":160000") || line.find(" 160000 ") < tab;
      if (is_submodule && tab != std::string::npos) clone.submodules.push_back(line.substr(tab + 1));
    }
    return Ok();
  }

  CloneGit git_;
  const AbsPath& folder_;
};

Result<void> RequireOnline(const Env& env, const char* verb) {
  if (!env.offline) return Ok();
  return Error(ErrorCode::kNotFound,
               fmt::format("'ptpkg source {}' asks the servers, but --offline is set", verb))
      .WithHint("'ptpkg source status' works offline");
}

/// Refuses submodules whose HEAD differs from the recorded commit and is on no branch or tag.
Result<void> RequireNoOwnCommits(const Clones& clones, const SourceClone& clone) {
  constexpr const char* kOwnCommit =
      // A clone that was interrupted has no HEAD.
      "head=$(git rev-parse --verify --quiet HEAD) || exit 0; test \"$head\" = \"$sha1\" || "
      "test -z \"$(git rev-list --max-count=1 HEAD --not --branches --tags --remotes)\" || "
      "printf '%s\\n' \"$displaypath\"";
  PTPKG_TRY(const std::string paths,
            clones.git().Read(clone.path, {"submodule", "--quiet", "foreach", "--recursive", kOwnCommit}));
  if (paths.empty()) return Ok();
  const std::vector<std::string> lines = SplitLines(paths);
  return Error(ErrorCode::kRefused,
               fmt::format("'{}' has submodules with commits that no branch or tag holds: {}",
                           clone.path.str(), FirstNames(lines, 5)))
      .WithHint(
          fmt::format("keep them: git -C {} branch NAME", ShellQuote({(clone.path / lines.front()).str()})));
}

/// Nothing of the user's may get lost by the checkout of another commit.
Result<void> RequireNothingToLose(const Clones& clones, const SourceClone& clone) {
  if (!clone.edited.empty()) {
    return Error(ErrorCode::kRefused,
                 fmt::format("'{}' has changed files: {}", clone.path.str(), FirstNames(clone.edited, 5)))
        .WithHint(fmt::format("keep them: git -C {0} stash; or drop them: git -C {0} reset --hard",
                              ShellQuote({clone.edited_in.str()})));
  }
  PTPKG_TRY(const std::string own,
            clones.git().Read(clone.path, {"rev-list", "--max-count=1", "HEAD", "--not", "--branches",
                                           "--tags", "--remotes"}));
  if (own.empty()) return RequireNoOwnCommits(clones, clone);
  return Error(ErrorCode::kRefused,
               fmt::format("'{}' has commits that no branch or tag holds, up to {}", clone.path.str(), own))
      .WithHint(fmt::format("keep them: git -C {} branch NAME", ShellQuote({clone.path.str()})));
}

/// The checkout of `wanted` may write over no file that git does not track.
Result<void> RequireNothingInTheWay(const Clones& clones, const WantedSource& source, SourceClone& clone) {
  PTPKG_TRY(const std::vector<std::string> files, FilesInTheWay(clones.git(), source.git.submodules, clone));
  if (files.empty()) return Ok();
  return Error(ErrorCode::kRefused, fmt::format("'{}' has files that {} would replace: {}", clone.path.str(),
                                                clone.ref, FirstNames(files, 5)))
      .WithHint(fmt::format("move them away: mv {} DIR", ShellQuote({(clone.path / files.front()).str()})));
}

Result<SourceClone> MakeClone(Env& env, const Clones& clones, const WantedSource& source,
                              const AbsPath& folder) {
  PTPKG_TRY(TempDir scratch, TempDir::Create(env.fs, folder, "clone"));
  SourceClone clone{.name = source.name, .path = scratch.path(), .ref = RefOf(source.git)};
  PTPKG_CHECK(clones.git().Fetch(clone.path, source, {"clone", "--no-checkout", "--", source.url.text, "."},
                                 "make a clone of"));
  PTPKG_TRY(clone.wanted, clones.CommitOf(clone.path, RefsOf(source.git)));
  if (clone.wanted.empty()) return LacksRef(clone, source);
  PTPKG_CHECK(clones.CheckOut(source, clone));
  PTPKG_CHECK(std::move(scratch).MoveTo(clones.PathOf(source)));
  return clones.Look(source);
}

/// "while cloning 'b'; complete: 'a'; not begun: 'c'"
std::string PlaceOfFailure(const std::vector<WantedSource>& sources, std::size_t failed) {
  std::vector<std::string> names;
  for (const WantedSource& source : sources) names.push_back(source.name);
  const auto at = names.begin() + static_cast<std::ptrdiff_t>(failed);
  std::string text = fmt::format("while cloning '{}'", *at);
  if (at != names.begin()) text += "; complete: " + FirstNames({names.begin(), at}, names.size());
  if (at + 1 != names.end()) text += "; not begun: " + FirstNames({at + 1, names.end()}, names.size());
  return text;
}

}  // namespace

Result<std::vector<SourceClone>> CloneSources(Env& env, const SourcesRequest& request) {
  PTPKG_CHECK(RequireOnline(env, "clone"));
  PTPKG_TRY(const std::vector<WantedSource> sources, WantedSources(env, request));
  PTPKG_TRY(source::Git git, source::Git::Find(env));
  const Clones clones(env, std::move(git), request.folder);
  for (const WantedSource& source : sources) {
    PTPKG_TRY(const bool exists, Exists(env.fs, clones.PathOf(source)));
    if (!exists) continue;
    return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' already exists", clones.PathOf(source).str()))
        .WithHint(
            "leave its recipe out and bring it up to date with 'ptpkg source update', or name another "
            "directory with --into");
  }
  std::vector<SourceClone> made;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    Result<SourceClone> clone = MakeClone(env, clones, sources[i], request.folder);
    if (!clone) return std::move(clone).error().WithContext(PlaceOfFailure(sources, i));
    made.push_back(*std::move(clone));
  }
  return made;
}

Result<std::vector<SourceClone>> UpdateSources(Env& env, const SourcesRequest& request) {
  PTPKG_CHECK(RequireOnline(env, "update"));
  PTPKG_TRY(const std::vector<WantedSource> sources, WantedSources(env, request));
  PTPKG_TRY(source::Git git, source::Git::Find(env));
  const Clones clones(env, std::move(git), request.folder);
  std::vector<SourceClone> updated;
  for (const WantedSource& source : sources) {
    PTPKG_TRY(SourceClone clone, clones.Look(source));
    if (clone.commit.empty()) {
      return Error(ErrorCode::kNotFound, fmt::format("'{}' is not a clone", clone.path.str()))
          .WithHint("make it with 'ptpkg source clone', or name its directory with --into");
    }
    PTPKG_CHECK(RequireNothingToLose(clones, clone));
    updated.push_back(std::move(clone));
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    PTPKG_CHECK(clones.Fetch(sources[i], updated[i]));
    PTPKG_CHECK(RequireNothingInTheWay(clones, sources[i], updated[i]));
  }
  for (std::size_t i = 0; i < sources.size(); ++i) PTPKG_CHECK(clones.CheckOut(sources[i], updated[i]));
  return updated;
}

Result<std::vector<SourceClone>> SourceStatus(Env& env, const SourcesRequest& request) {
  PTPKG_TRY(const std::vector<WantedSource> sources, WantedSources(env, request));
  PTPKG_TRY(source::Git git, source::Git::Find(env));
  const Clones clones(env, std::move(git), request.folder);
  std::vector<SourceClone> all;
  for (const WantedSource& source : sources) {
    PTPKG_TRY(SourceClone clone, clones.Look(source));
    all.push_back(std::move(clone));
  }
  return all;
}

}  // namespace ptpkg::pipeline
