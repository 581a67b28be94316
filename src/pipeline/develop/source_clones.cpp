// The clones are the user's own: git works in them with the user's configuration, and nothing is checked out
// over changed files, or away from commits that only a detached HEAD holds. So an update first looks at all
// clones and fetches into all, and changes the first one only then.
//
// An update that was interrupted leaves submodules at their old commits. git reports these as changes, and
// the next update must not take them for the user's: porcelain v2 tells both apart.

#include "pipeline/develop/source_clones.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <utility>

#include "recipe/git_url.h"
#include "source/git.h"
#include "source/git_resolve.h"
#include "support/files/scratch.h"
#include "support/text/plural.h"
#include "support/text/text.h"
#include "versions/conda_version.h"

namespace ptpkg::pipeline {

namespace {

struct WantedSource {
  std::string name;
  std::string version;
  recipe::GitSource git;
  recipe::GitUrl url;
};

/// Adds the git source of `recipe`, or replaces the one of an older version.
Result<void> AddSourceOf(const recipe::Recipe& recipe, std::vector<WantedSource>& sources) {
  for (const recipe::Source& source : recipe.sources) {
    if (source.git.url.empty()) continue;
    PTPKG_TRY(recipe::GitUrl url, recipe::ParseGitUrl(source.git.url, recipe.recipe_dir));
    const std::string& base = recipe.recipe_name.empty() ? recipe.name : recipe.recipe_name;
    const std::string name =
        source.target_directory.empty() ? base : base + "-" + ReplaceAll(source.target_directory, "/", "-");
    WantedSource wanted{.name = name, .version = recipe.version, .git = source.git, .url = std::move(url)};
    const auto known = std::ranges::find(sources, name, &WantedSource::name);
    if (known == sources.end()) {
      sources.push_back(std::move(wanted));
    } else if (versions::CompareVersions(known->version, wanted.version) < 0) {
      *known = std::move(wanted);
    }
  }
  return Ok();
}

std::string RefOf(const recipe::GitSource& git) {
  std::string name = source::GitNameOf(git);
  return name.empty() ? "commit " + git.rev : name;
}

Result<std::vector<WantedSource>> WantedSources(Env& env, const SourcesRequest& request) {
  std::vector<WantedSource> sources;
  for (const AbsPath& input : request.render.recipes) {
    RenderRequest one = request.render;
    one.recipes = {input};
    PTPKG_TRY(const std::vector<recipe::Recipe> recipes, Render(env, one));
    const std::size_t before = sources.size();
    for (const recipe::Recipe& recipe : recipes) {
      for (const recipe::Recipe* part = &recipe; part != nullptr && !recipe.skip;
           part = part->inherited.get())
        PTPKG_CHECK(AddSourceOf(*part, sources));
    }
    if (sources.size() > before) continue;
    return Error(ErrorCode::kUsage, fmt::format("no selected variant of '{}' has a git source", input.str()))
        .WithHint("'ptpkg render' lists the variants; a source without 'git' is fetched by 'ptpkg build'");
  }
  return sources;
}

using Args = std::vector<std::string>;

class Clones {
 public:
  Clones(Env& env, source::Git git, const AbsPath& folder)
      : env_(env), git_(std::move(git)), folder_(folder) {}

  [[nodiscard]] AbsPath PathOf(const WantedSource& source) const { return folder_ / source.name; }

  /// True for a repository, not for a directory inside one.
  [[nodiscard]] bool Has(const WantedSource& source) const {
    return env_.fs.Lstat(PathOf(source) / ".git").has_value();
  }

  /// Runs git in a clone. Errors: kCommandFailed.
  Result<std::string> Read(const AbsPath& clone, const Args& args) const {
    PTPKG_TRY(const ExitStatus status, Run(clone, args));
    if (status.ok()) return std::string(Trim(status.output));
    return Error(ErrorCode::kCommandFailed, fmt::format("'{}': git {} failed: {}", clone.str(), args.front(),
                                                        source::GitReason(status)));
  }

  /// The commit of the source's ref; "" if the clone lacks it.
  Result<std::string> WantedCommit(const AbsPath& clone, const recipe::GitSource& git) const {
    const std::string ref = !git.tag.empty()      ? "refs/tags/" + git.tag
                            : !git.branch.empty() ? "refs/remotes/origin/" + git.branch
                            : !git.rev.empty()    ? git.rev
                                                  : "refs/remotes/origin/HEAD";
    for (const std::string& one : {ref, "refs/remotes/origin/" + git.rev}) {
      PTPKG_TRY(const ExitStatus status, Run(clone, {"rev-parse", "--verify", "--quiet", one + "^{commit}"}));
      if (status.ok()) return std::string(Trim(status.output));
    }
    return std::string();
  }

  Result<SourceClone> Look(const WantedSource& source) const {
    SourceClone clone{.name = source.name, .path = PathOf(source), .ref = RefOf(source.git)};
    if (!Has(source)) return clone;
    PTPKG_TRY(clone.wanted, WantedCommit(clone.path, source.git));
    PTPKG_TRY(clone.commit, Read(clone.path, {"rev-parse", "HEAD"}));
    PTPKG_CHECK(LookAtFiles(clone));
    return clone;
  }

  /// Checks out `wanted` with all submodules, and notes what changed.
  Result<void> CheckOut(const WantedSource& source, SourceClone& clone) const {
    PTPKG_TRY([[maybe_unused]] const std::string said,
              Read(clone.path, {"checkout", "--quiet", "--no-overwrite-ignore", "--detach", clone.wanted}));
    if (source.git.submodules) {
      for (const auto& args : {Args{"submodule", "--quiet", "sync", "--recursive"},
                               Args{"submodule", "update", "--init", "--recursive", "--jobs", "4"}})
        PTPKG_CHECK(Fetch(clone.path, source, args, "fetch the submodules"));
    }
    clone.before = std::exchange(clone.commit, clone.wanted);
    clone.unready.clear();
    if (clone.before.empty() || clone.before == clone.commit) return Ok();
    return Compare(clone);
  }

  Result<void> Fetch(const AbsPath& clone, const WantedSource& source, Args args,
                     const std::string& doing) const {
    Task task(env_.reporter, {.stage = "source", .subject = source.name});
    args.insert(args.begin(), {"-C", clone.str()});
    PTPKG_TRY([[maybe_unused]] const std::string said,
              git_.RunWithRetry(
                  {.args = args,
                   .with_user_config = true,
                   .on_line = [&](std::string_view line) { task.ChildOutput(line); }},
                  source.url, fmt::format("cannot {} of '{}'", doing, recipe::ShownGitUrl(source.url.text))));
    task.Done();
    return Ok();
  }

 private:
  Result<ExitStatus> Run(const AbsPath& clone, Args args) const {
    args.insert(args.begin(), {"-C", clone.str()});
    return git_.Run({.args = std::move(args), .with_user_config = true});
  }

  Result<void> LookAtFiles(SourceClone& clone) const {
    PTPKG_TRY(const std::string status, Lines(clone.path, {"status", "--porcelain=v2", "--untracked-files=no",
                                                           "--ignore-submodules=none"}));
    for (const std::string& line : SplitLines(status)) {
      // "1 .M SCM. …six fields… PATH". The third field is "N..." for a file. For a submodule, C means
      // another commit, and M edited files.
      const std::vector<std::string> fields = Split(line, ' ');
      constexpr std::size_t kFieldsBeforePath = 8;
      if (fields.size() <= kFieldsBeforePath) continue;
      const std::string path = Join({fields.begin() + kFieldsBeforePath, fields.end()}, " ");
      const bool is_edited = !fields[2].starts_with("SC.");
      (is_edited ? clone.edited : clone.unready).push_back(path);
    }
    PTPKG_TRY(const std::string submodules, Lines(clone.path, {"submodule", "status", "--recursive"}));
    for (const std::string& line : SplitLines(submodules)) {
      const std::vector<std::string> fields = Split(std::string(Trim(line)), ' ');
      if (line.starts_with('-') && fields.size() > 1) clone.unready.push_back(fields[1]);
    }
    return Ok();
  }

  /// All of the output: an ExitStatus keeps only its end.
  Result<std::string> Lines(const AbsPath& clone, Args args) const {
    const std::string name = args.front();
    args.insert(args.begin(), {"-C", clone.str()});
    std::string text;
    PTPKG_TRY(
        const ExitStatus status,
        git_.Run({.args = std::move(args), .with_user_config = true, .on_line = [&](std::string_view line) {
                    text.append(line).push_back('\n');
                  }}));
    if (status.ok()) return text;
    return Error(ErrorCode::kCommandFailed,
                 fmt::format("'{}': git {} failed: {}", clone.str(), name, source::GitReason(status)));
  }

  Result<void> Compare(SourceClone& clone) const {
    PTPKG_TRY(const std::string count,
              Read(clone.path, {"rev-list", "--count", clone.before + ".." + clone.commit}));
    std::from_chars(count.data(), count.data() + count.size(), clone.commits);
    PTPKG_TRY(const std::string raw,
              Lines(clone.path, {"diff", "--raw", "--no-renames", clone.before, clone.commit}));
    for (const std::string& line : SplitLines(raw)) {
      ++clone.files;
      const std::size_t tab = line.find('\t');
      const bool is_submodule = line.starts_with(":160000") || line.find(" 160000 ") < tab;
      if (is_submodule && tab != std::string::npos) clone.submodules.push_back(line.substr(tab + 1));
    }
    return Ok();
  }

  Env& env_;
  source::Git git_;
  const AbsPath& folder_;
};

Error LacksRef(const SourceClone& clone, const WantedSource& source) {
  return Error(ErrorCode::kNotFound,
               fmt::format("'{}' does not have {}", recipe::ShownGitUrl(source.url.text), clone.ref))
      .WithHint(fmt::format("list the tags: git ls-remote --tags {}", recipe::ShownGitUrl(source.url.text)));
}

Result<void> RequireOnline(const Env& env, const char* verb) {
  if (!env.offline) return Ok();
  return Error(ErrorCode::kNotFound,
               fmt::format("'ptpkg source {}' asks the servers, but --offline is set", verb))
      .WithHint("'ptpkg source status' works offline");
}

/// Refuses submodules whose HEAD differs from the recorded commit and is on no branch or tag.
Result<void> RequireNoOwnCommits(const Clones& clones, const SourceClone& clone) {
  constexpr const char* kOwnCommit =
      "test \"$(git rev-parse HEAD)\" = \"$sha1\" || test -z \"$(git rev-list --max-count=1 HEAD --not "
      "--branches "
      "--tags --remotes)\" || printf '%s\\n' \"$displaypath\"";
  PTPKG_TRY(const std::string paths,
            clones.Read(clone.path, {"submodule", "--quiet", "foreach", "--recursive", kOwnCommit}));
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
        .WithHint(fmt::format("keep them: git -C {} stash", ShellQuote({clone.path.str()})));
  }
  PTPKG_TRY(const std::string own, clones.Read(clone.path, {"rev-list", "--max-count=1", "HEAD", "--not",
                                                            "--branches", "--tags", "--remotes"}));
  if (own.empty()) return RequireNoOwnCommits(clones, clone);
  return Error(ErrorCode::kRefused,
               fmt::format("'{}' has commits that no branch or tag holds, up to {}", clone.path.str(), own))
      .WithHint(fmt::format("keep them: git -C {} branch NAME", ShellQuote({clone.path.str()})));
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
            "bring a clone up to date with 'ptpkg source update', or name another directory with --into");
  }
  std::vector<SourceClone> made;
  for (const WantedSource& source : sources) {
    PTPKG_TRY(TempDir scratch, TempDir::Create(env.fs, request.folder, "clone"));
    PTPKG_CHECK(clones.Fetch(scratch.path(), source, {"clone", "--no-checkout", "--", source.url.text, "."},
                             "make a clone"));
    SourceClone clone{.name = source.name, .path = scratch.path(), .ref = RefOf(source.git)};
    PTPKG_TRY(clone.wanted, clones.WantedCommit(clone.path, source.git));
    if (clone.wanted.empty()) return LacksRef(clone, source);
    PTPKG_CHECK(clones.CheckOut(source, clone));
    PTPKG_CHECK(std::move(scratch).MoveTo(clones.PathOf(source)));
    PTPKG_TRY(SourceClone finished, clones.Look(source));
    made.push_back(std::move(finished));
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
    // Without --force: a tag that moved may be the only one that holds a commit of the user.
    PTPKG_CHECK(clones.Fetch(updated[i].path, sources[i], {"fetch", "--tags", "origin"}, "fetch"));
    PTPKG_TRY(updated[i].wanted, clones.WantedCommit(updated[i].path, sources[i].git));
    if (updated[i].wanted.empty()) return LacksRef(updated[i], sources[i]);
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
