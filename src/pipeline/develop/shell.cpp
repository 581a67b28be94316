// `ptpkg shell` has to find the directory that a person means, and must not break it for the next build. It
// tries, in this order: a failed or interrupted build or the directory of `ptpkg dev`, the newest first, then
// a directory that --keep-work left, and else it prepares one without running the script. A directory that
// another process holds is entered only if all are held, after waiting for the newest.
//
// Whoever enters may edit files and may be cut off at any moment. So the state of the sources is written to
// disk before the shell starts (FolderGuard), and removed only if nothing differs afterwards. The next build
// starts over if the record is there and the sources differ. A directory of `ptpkg dev` has the phase kScript
// meanwhile.
//
// Invariants: an older record of a shell that was cut off stays. The state that Leave restores keeps the boot
// id of before: a power loss in between stays visible. Kept directories were renamed, so their environment
// file is adapted.

#include "pipeline/develop/shell.h"

#include <algorithm>
#include <fmt/core.h>

#include "builder/env/environment_file.h"
#include "builder/resume/resume.h"
#include "pipeline/develop/dev.h"
#include "pipeline/stages/build_folder.h"
#include "source/walk.h"
#include "support/process/foreground.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

using builder::WorkPhase;

/// The environment file of the work directory `work`: <work>/w…/build_env_setup.sh; nullopt: there is none.
Result<std::optional<AbsPath>> EnvironmentFileIn(Env& env, const AbsPath& work) {
  const auto names = env.fs.ListDir(work);
  if (!names) return std::optional<AbsPath>();
  for (const std::string& name : *names) {
    const AbsPath file = work / name / builder::kEnvironmentFileName;
    PTPKG_TRY(const bool there, Exists(env.fs, file));
    if (there) return std::optional(file);
  }
  return std::optional<AbsPath>();
}

/// A directory to enter. Its lease is held as long as this lives.
struct EnteredDir {
  AbsPath environment;
  Lease lease;
  std::string told;                  ///< For people: which one it is.
  std::optional<AbsPath> work = {};  ///< Path of its state.json, if a build or `ptpkg dev` may resume in it.
  bool is_dev = false;
};

constexpr std::string_view kDevTold = "the directory of 'ptpkg dev'";

class ShellFinder {
 public:
  ShellFinder(Env& env, const ShellRequest& request, const NativeChoice& choice)
      : env_(env), request_(request), choice_(choice), subject_(choice.recipe.FileStem()) {}

  Result<EnteredDir> Run() {
    PTPKG_TRY(std::optional<EnteredDir> left, EnterInterruptedRun());
    if (left) return *std::move(left);
    PTPKG_TRY(std::optional<EnteredDir> kept, EnterKeptDir());
    if (kept) return *std::move(kept);
    env_.reporter.Note(fmt::format(
        "no work directory of '{}' exists: preparing sources and host prefix without running the script",
        subject_));
    PTPKG_TRY(DevWorkDir place, PrepareDev(env_, request_.native, choice_));
    const AbsPath root = place.folder.root();
    return EnteredDir{.environment = place.layout.EnvironmentFile(),
                      .lease = std::move(place.folder).TakeLease(),
                      .told = std::string(kDevTold),
                      .work = root,
                      .is_dev = true};
  }

 private:
  struct Candidate {
    std::int64_t mtime_ns = 0;
    AbsPath folder;
    bool is_dev = false;
  };
  static void NewestFirst(std::vector<Candidate>& candidates) {
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.mtime_ns > b.mtime_ns; });
  }

  /// True if it is of this recipe and subject; `ptpkg dev` may have another version. Not one that was moved
  /// here: its environment names the directory that it was copied from.
  [[nodiscard]] bool IsUsable(const AbsPath& folder, bool is_dev) const {
    const auto state = builder::ReadWorkState(env_.fs, folder);
    return state && state->phase != WorkPhase::kStarted && state->place == folder.str() &&
           state->recipe == choice_.recipe.recipe_dir.str() && (is_dev || state->subject == subject_);
  }

  /// The directory of `ptpkg dev` and directories of failed or interrupted builds, the newest first.
  std::vector<Candidate> Candidates() {
    std::vector<Candidate> candidates;
    const auto add = [&](const AbsPath& folder, bool is_dev) {
      const auto stat = env_.fs.Lstat(folder / "state.json");
      if (stat && IsUsable(folder, is_dev))
        candidates.push_back({.mtime_ns = stat->mtime_ns, .folder = folder, .is_dev = is_dev});
    };
    add(DevFolder::PlaceOf(env_, choice_.recipe), true);
    const AbsPath parent = WorkRoot(env_);
    const auto names = env_.fs.ListDir(parent);
    if (names) {
      for (const std::string& name : *names) add(parent / name, false);
    }
    NewestFirst(candidates);
    return candidates;
  }

  Result<std::optional<Lease>> LeaseOf(const Candidate& candidate, bool wait) {
    if (!wait) return Lease::Try(env_.fs, candidate.folder, LockKind::kExclusive);
    PTPKG_TRY(Lease lease, WaitForLease(env_, candidate.folder, subject_));
    return std::optional(std::move(lease));
  }

  /// nullopt: somebody works in it, or it has become useless.
  Result<std::optional<EnteredDir>> Enter(const Candidate& candidate, std::optional<Lease> lease) {
    if (!lease) return std::optional<EnteredDir>();
    // A run that held it has ended well by now, or no script had begun.
    if (!IsUsable(candidate.folder, candidate.is_dev)) {
      PTPKG_TRY(const bool there, Exists(env_.fs, candidate.folder / "state.json"));
      // Waiting for the lease may have made the directory anew, after its run removed it.
      if (!there) PTPKG_CHECK(std::move(*lease).Remove());
      return std::optional<EnteredDir>();
    }
    PTPKG_TRY(std::optional<AbsPath> file, EnvironmentFileIn(env_, candidate.folder / "d"));
    if (!file) return std::optional<EnteredDir>();
    return std::optional(
        EnteredDir{.environment = *std::move(file),
                   .lease = *std::move(lease),
                   .told = candidate.is_dev ? std::string(kDevTold) : "the work directory of a failed build",
                   .work = candidate.folder,
                   .is_dev = candidate.is_dev});
  }

  /// The newest that nobody holds; where all are held, the newest, when it is free.
  Result<std::optional<EnteredDir>> EnterInterruptedRun() {
    const std::vector<Candidate> candidates = Candidates();
    // First those that nobody holds, then wait for the newest of the others.
    for (const bool wait : {false, true}) {
      for (const Candidate& candidate : candidates) {
        PTPKG_TRY(std::optional<Lease> lease, LeaseOf(candidate, wait));
        PTPKG_TRY(std::optional<EnteredDir> entrance, Enter(candidate, std::move(lease)));
        if (!entrance) continue;
        if (candidates.size() > 1) {
          entrance->told += fmt::format(", the newest free one of {}", Plural(candidates.size(), "folder"));
        }
        return entrance;
      }
    }
    return std::optional<EnteredDir>();
  }

  /// Enters a directory that --keep-work has kept under a new name.
  Result<std::optional<EnteredDir>> EnterKeptDir() {
    const AbsPath parent = env_.cache_dir / "kept";
    std::vector<Candidate> candidates;
    const auto names = env_.fs.ListDir(parent);
    if (!names) return std::optional<EnteredDir>();
    for (const std::string& name : *names) {
      PTPKG_TRY(const std::optional<AbsPath> file, EnvironmentFileIn(env_, parent / name));
      if (!file) continue;
      PTPKG_TRY(const std::string text, ReadFile(env_.fs, *file));
      const builder::EnvironmentOrigin origin = builder::ReadEnvironmentOrigin(text);
      if (origin.subject != subject_ || origin.recipe != choice_.recipe.recipe_dir.str()) continue;
      PTPKG_TRY(const FileStat stat, env_.fs.Lstat(*file));
      candidates.push_back({.mtime_ns = stat.mtime_ns, .folder = *file});
    }
    NewestFirst(candidates);
    if (candidates.empty()) return std::optional<EnteredDir>();
    const AbsPath file = candidates.front().folder;
    PTPKG_TRY(Lease lease, WaitForLease(env_, file.Parent().Parent(), subject_));
    PTPKG_TRY(const std::string text, ReadFile(env_.fs, file));
    PTPKG_TRY(const AbsPath root, AbsPath::Parse(builder::ReadEnvironmentOrigin(text).root));
    const std::string was = root.Parent().str();
    const std::string is = file.Parent().Parent().str();
    if (was != is) PTPKG_CHECK(WriteFile(env_.fs, file, ReplaceAll(text, was, is)));
    return std::optional(
        EnteredDir{.environment = file,
                   .lease = std::move(lease),
                   .told = "a directory kept by --keep-work, under another path than it was built in"});
  }

  Env& env_;
  const ShellRequest& request_;
  const NativeChoice& choice_;
  std::string subject_;
};

/// Somebody may change files in there, and be cut off at any moment: a record on the disk shows the next run
/// the earlier state.
class FolderGuard {
 public:
  static Result<FolderGuard> Take(Env& env, const EnteredDir& entrance, const AbsPath& source) {
    FolderGuard guard(env, *entrance.work, source, entrance.is_dev);
    PTPKG_TRY(guard.state_, builder::ReadWorkState(env.fs, guard.work_));
    PTPKG_TRY(const bool cut_off, Exists(env.fs, builder::ShellRecordFile(guard.work_)));
    if (!cut_off) {  // else the older record counts
      PTPKG_TRY(const builder::SourceRecord before, builder::SourceRecord::Take(env, source));
      PTPKG_CHECK(before.Write(env.fs, builder::ShellRecordFile(guard.work_)));
    }
    if (guard.is_dev_) PTPKG_CHECK(guard.MarkWriting());
    return guard;
  }

  /// The command has ended by itself.
  Result<void> Leave() {
    // With the earlier boot id: files that a power cut made doubtful stay doubtful.
    if (is_dev_) PTPKG_CHECK(builder::WriteWorkState(env_->fs, work_, state_));
    PTPKG_TRY(const builder::SourceRecord before,
              builder::SourceRecord::Read(*env_, builder::ShellRecordFile(work_)));
    PTPKG_TRY(const builder::SourceRecord after, builder::SourceRecord::Take(*env_, source_));
    if (after == before) return RemoveTree(env_->fs, builder::ShellRecordFile(work_));
    if (!is_dev_) {
      env_->reporter.Warn(
          fmt::format("files in '{}' were changed by hand, so the next build of '{}' starts over. Edit the "
                      "sources instead; 'ptpkg dev' builds an edit in seconds",
                      source_.str(), state_.subject));
    }
    return Ok();
  }

 private:
  FolderGuard(Env& env, AbsPath work, AbsPath source, bool is_dev)
      : env_(&env), work_(std::move(work)), source_(std::move(source)), is_dev_(is_dev) {}

  /// The next `ptpkg dev` looks for files that were being written when the shell was cut off.
  Result<void> MarkWriting() {
    builder::WorkState said = state_;
    said.phase = WorkPhase::kScript;
    said.boot_id = builder::BootId(env_->fs);
    return builder::WriteWorkState(env_->fs, work_, said);
  }

  Env* env_;
  AbsPath work_;
  AbsPath source_;
  bool is_dev_;
  builder::WorkState state_ = {};
};

Result<int> RunInside(Env& env, const ShellRequest& request, const ShellSummary& place) {
  const auto bash = FindProgram("bash", PathVariable(env.variables));
  if (!bash) {
    return Error(ErrorCode::kNotFound, "'bash' is not on PATH").WithHint("install: apt-get install bash");
  }
  ForegroundCommand command{.cwd = place.source};
  const auto term = env.variables.find("TERM");
  if (term != env.variables.end()) command.env.insert(*term);
  if (!request.command.empty()) {
    command.argv = {bash->str(), "-c",
                    fmt::format(R"(. "$1"; unset {}; shift; exec -- "$@")", builder::kReadByHand), "bash",
                    place.environment.str()};
    command.argv.insert(command.argv.end(), request.command.begin(), request.command.end());
    return RunInForeground(command);
  }
  const AbsPath rc = place.environment.Parent() / "shell_rc.sh";
  PTPKG_CHECK(WriteFile(env.fs, rc,
                        fmt::format(". {}\nunset {}\nPS1={}\n", ShellQuote({place.environment.str()}),
                                    builder::kReadByHand, ShellQuote({"(" + place.subject + ") \\W\\$ "}))));
  command.interactive = true;
  command.argv = {bash->str(), "--noprofile", "--rcfile", rc.str(), "-i"};
  return RunInForeground(command);
}

}  // namespace

Result<ShellSummary> Shell(Env& env, const ShellRequest& request) {
  PTPKG_TRY(const NativeChoice choice, ChooseNative(env, request.native));
  PTPKG_TRY(const EnteredDir entrance, ShellFinder(env, request, choice).Run());
  ShellSummary summary{.subject = choice.recipe.FileStem(),
                       .source = entrance.environment.Parent() / builder::kSourceFolderName,
                       .environment = entrance.environment};
  env.reporter.Note(fmt::format("{}: '{}'", entrance.told, summary.source.str()));
  if (!request.enters) return summary;
  std::optional<FolderGuard> guard;
  if (entrance.work) {
    PTPKG_TRY(FolderGuard taken, FolderGuard::Take(env, entrance, summary.source));
    guard.emplace(std::move(taken));
    if (!entrance.is_dev) {
      env.reporter.Warn(
          "if files in that directory change, the next build starts over: compile elsewhere, or with 'ptpkg "
          "dev'");
    }
  }
  request.on_enter();
  const Result<int> status = RunInside(env, request, summary);
  const Result<void> left = guard ? guard->Leave() : Ok();
  PTPKG_TRY(summary.status, status);
  PTPKG_CHECK(left);
  return summary;
}

}  // namespace ptpkg::pipeline
