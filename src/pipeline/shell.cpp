#include "pipeline/shell.h"

#include <algorithm>
#include <fmt/core.h>

#include "build/environment_file.h"
#include "build/source_record.h"
#include "pipeline/build_folder.h"
#include "pipeline/dev.h"
#include "source/walk.h"
#include "support/foreground.h"
#include "support/plural.h"
#include "support/text.h"

namespace ptpkg::pipeline {

namespace {

using build::WorkPhase;

/// The environment file of the work folder `work`: <work>/w…/build_env_setup.sh; nullopt: there is none.
Result<std::optional<AbsPath>> EnvironmentFileIn(Env& env, const AbsPath& work) {
  const auto names = env.fs.ListDir(work);
  if (!names) return std::optional<AbsPath>();
  for (const std::string& name : *names) {
    const AbsPath file = work / name / "build_env_setup.sh";
    PTPKG_TRY(const bool there, Exists(env.fs, file));
    if (there) return std::optional(file);
  }
  return std::optional<AbsPath>();
}

/// A folder to enter. Its lease is held as long as this lives.
struct Entrance {
  AbsPath environment;
  Lease lease;
  std::string told;                  ///< For people: which one it is.
  std::optional<AbsPath> work = {};  ///< Of a build that may go on in it: where its state.json lies.
};

class ShellFinder {
 public:
  ShellFinder(Env& env, const ShellRequest& request, const NativeChoice& choice)
      : env_(env), request_(request), choice_(choice), subject_(choice.recipe.FileStem()) {}

  Result<Entrance> Run() {
    for (const auto find : {&ShellFinder::OfDev, &ShellFinder::OfBuild, &ShellFinder::OfKept}) {
      PTPKG_TRY(std::optional<Entrance> found, (this->*find)());
      if (found) return *std::move(found);
    }
    env_.reporter.Note(fmt::format(
        "no folder of '{}' is left: sources and host prefix are made, and no script runs", subject_));
    PTPKG_TRY(DevPlace place, PrepareDev(env_, request_.native, choice_));
    return Entrance{.environment = place.layout.EnvironmentFile(),
                    .lease = std::move(place.folder).TakeLease(),
                    .told = "the folder of 'ptpkg dev'"};
  }

 private:
  [[nodiscard]] bool IsOfRecipe(const build::WorkState& state) const {
    return state.phase != WorkPhase::kStarted && state.recipe == choice_.recipe.recipe_dir.str();
  }

  Result<std::optional<Entrance>> OfDev() {
    const AbsPath root = DevFolder::PlaceOf(env_, choice_.recipe);
    PTPKG_TRY(const bool there, Exists(env_.fs, root));
    if (!there) return std::optional<Entrance>();
    PTPKG_TRY(Lease lease, WaitForLease(env_, root, subject_));
    const auto state = build::ReadWorkState(env_.fs, root);
    if (!state || !IsOfRecipe(*state)) return std::optional<Entrance>();
    PTPKG_TRY(std::optional<AbsPath> file, EnvironmentFileIn(env_, root / "d"));
    if (!file) return std::optional<Entrance>();
    return std::optional(Entrance{
        .environment = *std::move(file), .lease = std::move(lease), .told = "the folder of 'ptpkg dev'"});
  }

  struct Candidate {
    std::int64_t mtime_ns = 0;
    AbsPath folder;
  };
  static void NewestFirst(std::vector<Candidate>& candidates) {
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.mtime_ns > b.mtime_ns; });
  }

  /// What a failed or interrupted build of this subject has left.
  Result<std::optional<Entrance>> OfBuild() {
    const AbsPath parent = env_.cache_dir / "work";
    std::vector<Candidate> candidates;
    const auto names = env_.fs.ListDir(parent);
    if (!names) return std::optional<Entrance>();
    for (const std::string& name : *names) {
      const auto state = build::ReadWorkState(env_.fs, parent / name);
      const auto stat = env_.fs.Lstat(parent / name / "state.json");
      if (!state || !stat || !IsOfRecipe(*state) || state->subject != subject_) continue;
      candidates.push_back({.mtime_ns = stat->mtime_ns, .folder = parent / name});
    }
    NewestFirst(candidates);
    for (const Candidate& candidate : candidates) {
      PTPKG_TRY(Lease lease, WaitForLease(env_, candidate.folder, subject_));
      PTPKG_TRY(std::optional<AbsPath> file, EnvironmentFileIn(env_, candidate.folder / "d"));
      // A run that held it has ended well by now, or no script had begun.
      const auto state = build::ReadWorkState(env_.fs, candidate.folder);
      if (!file || !state || !IsOfRecipe(*state)) continue;
      const std::string which =
          candidates.size() == 1
              ? "the work folder of a build that did not end well"
              : fmt::format("the newest of {} that builds which did not end well have left",
                            Plural(candidates.size(), "work folder"));
      return std::optional(Entrance{.environment = *std::move(file),
                                    .lease = std::move(lease),
                                    .told = which,
                                    .work = candidate.folder});
    }
    return std::optional<Entrance>();
  }

  /// What --keep-work has kept: it has another name than when it was made.
  Result<std::optional<Entrance>> OfKept() {
    const AbsPath parent = env_.cache_dir / "kept";
    std::vector<Candidate> candidates;
    const auto names = env_.fs.ListDir(parent);
    if (!names) return std::optional<Entrance>();
    for (const std::string& name : *names) {
      PTPKG_TRY(const std::optional<AbsPath> file, EnvironmentFileIn(env_, parent / name));
      if (!file) continue;
      PTPKG_TRY(const std::string text, ReadFile(env_.fs, *file));
      const build::EnvironmentOrigin origin = build::ReadEnvironmentOrigin(text);
      if (origin.subject != subject_ || origin.recipe != choice_.recipe.recipe_dir.str()) continue;
      PTPKG_TRY(const FileStat stat, env_.fs.Lstat(*file));
      candidates.push_back({.mtime_ns = stat.mtime_ns, .folder = *file});
    }
    NewestFirst(candidates);
    if (candidates.empty()) return std::optional<Entrance>();
    const AbsPath file = candidates.front().folder;
    PTPKG_TRY(Lease lease, WaitForLease(env_, file.Parent().Parent(), subject_));
    PTPKG_TRY(const std::string text, ReadFile(env_.fs, file));
    PTPKG_TRY(const AbsPath root, AbsPath::Parse(build::ReadEnvironmentOrigin(text).root));
    const std::string was = root.Parent().str();
    const std::string is = file.Parent().Parent().str();
    if (was != is) PTPKG_CHECK(WriteFile(env_.fs, file, ReplaceAll(text, was, is)));
    return std::optional(
        Entrance{.environment = file,
                 .lease = std::move(lease),
                 .told = "what --keep-work has kept, under another name than it was built in"});
  }

  Env& env_;
  const ShellRequest& request_;
  const NativeChoice& choice_;
  std::string subject_;
};

/// A build goes on in its work folder only if nobody has touched it: while a shell is in it the folder counts
/// as started, whatever happens to us.
class WorkGuard {
 public:
  static Result<WorkGuard> Take(Env& env, const AbsPath& work, const AbsPath& source) {
    PTPKG_TRY(const build::WorkState state, build::ReadWorkState(env.fs, work));
    PTPKG_TRY(build::SourceRecord before, build::SourceRecord::Take(env, source));
    build::WorkState entered = state;
    entered.phase = WorkPhase::kStarted;
    PTPKG_CHECK(build::WriteWorkState(env.fs, work, entered));
    return WorkGuard(env, work, source, state, std::move(before));
  }

  Result<void> Leave() {
    PTPKG_TRY(const build::SourceRecord after, build::SourceRecord::Take(*env_, source_));
    if (after == before_) return build::WriteWorkState(env_->fs, work_, state_);
    env_->reporter.Warn(fmt::format(
        "files in '{}' were changed by hand: the next build of '{}' starts anew. What you edit to be "
        "built goes into the sources; 'ptpkg dev' builds an edit in seconds",
        source_.str(), state_.subject));
    return Ok();
  }

 private:
  WorkGuard(Env& env, AbsPath work, AbsPath source, build::WorkState state, build::SourceRecord before)
      : env_(&env),
        work_(std::move(work)),
        source_(std::move(source)),
        state_(std::move(state)),
        before_(std::move(before)) {}

  Env* env_;
  AbsPath work_;
  AbsPath source_;
  build::WorkState state_;
  build::SourceRecord before_;
};

Result<int> RunInside(Env& env, const ShellRequest& request, const ShellSummary& place) {
  const auto path = env.variables.find("PATH");
  const auto bash = FindProgram("bash", path == env.variables.end() ? "/usr/bin:/bin" : path->second);
  if (!bash) {
    return Error(ErrorCode::kNotFound, "'bash' is not on PATH").WithHint("install: apt-get install bash");
  }
  ForegroundCommand command{.cwd = place.source};
  const auto term = env.variables.find("TERM");
  if (term != env.variables.end()) command.env.insert(*term);
  if (!request.command.empty()) {
    command.argv = {bash->str(), "-c", R"(. "$1"; shift; exec "$@")", "bash", place.environment.str()};
    command.argv.insert(command.argv.end(), request.command.begin(), request.command.end());
    return RunInForeground(command);
  }
  const AbsPath rc = place.environment.Parent() / "shell_rc.sh";
  PTPKG_CHECK(WriteFile(env.fs, rc,
                        fmt::format(". {}\nPS1={}\n", ShellQuote({place.environment.str()}),
                                    ShellQuote({"(" + place.subject + ") \\W\\$ "}))));
  command.argv = {bash->str(), "--noprofile", "--rcfile", rc.str(), "-i"};
  return RunInForeground(command);
}

}  // namespace

Result<ShellSummary> Shell(Env& env, const ShellRequest& request) {
  PTPKG_TRY(const NativeChoice choice, ChooseNative(env, request.native));
  PTPKG_TRY(const Entrance entrance, ShellFinder(env, request, choice).Run());
  ShellSummary summary{.subject = choice.recipe.FileStem(),
                       .source = entrance.environment.Parent() / "work",
                       .environment = entrance.environment};
  env.reporter.Note(fmt::format("{}: '{}'", entrance.told, summary.source.str()));
  if (!request.enters) return summary;
  std::optional<WorkGuard> guard;
  if (entrance.work) {
    PTPKG_TRY(WorkGuard taken, WorkGuard::Take(env, *entrance.work, summary.source));
    guard.emplace(std::move(taken));
  }
  PTPKG_TRY(summary.status, RunInside(env, request, summary));
  if (guard) PTPKG_CHECK(guard->Leave());
  return summary;
}

}  // namespace ptpkg::pipeline
