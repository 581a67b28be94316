// A build of hours must survive a killed run, and must never be resumed by two runs, or with other inputs.
// Its work directory is named after the inputs up to the script, so equal inputs give equal paths, which
// objects and CMake's cache contain. The lease on it decides who works there. A second run waits, then finds
// the stored result.
//
// With --ccache the directory is named after recipe and variant instead, because ccache finds objects only at
// the path where they were compiled. The lease of the inputs' directory is held all the same: it keeps equal
// builds apart.
//
// Invariants: a phase never promises more than is there, so kStarted is written before files go. The
// directory goes after its result is stored, never before. The lease of the inputs goes last: whoever waits
// for it may use the shared directory next. docs/decisions/0012-resuming-a-build.md and
// 0014-compiler-cache.md give the reasons.

#include "pipeline/stages/build_folder.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "builder/env/environment_file.h"
#include "pipeline/stages/work_folder.h"
#include "support/digest/hash.h"
#include "support/files/locked_file.h"

namespace ptpkg::pipeline {

namespace {

using builder::WorkPhase;

// Short: TMPDIR lies below it, and a socket's path has 107 characters.
constexpr std::size_t kNameLength = 16;
constexpr std::chrono::milliseconds kTurn{100};
// `ptpkg cache` and a sweep hold a lease for a few system calls.
constexpr int kTurnsBeforeTold = 5;
// Each is lost only to a run that has just removed the directory.
constexpr int kFolderAttempts = 100;

std::string FolderNameOf(const graph::Node& node, const graph::NodeKey& key) {
  KeyHasher hasher;
  hasher.Add("stage", node.stage);
  for (const auto& [input, digest] : key.digests) {
    if (!IsReadAfterScript(input)) hasher.Add(input, digest);
  }
  return hasher.Finish().Hex().substr(0, kNameLength);
}

/// The same for all builds of one recipe and variant: ccache finds an object where it was compiled at the
/// same path.
std::string StableDirName(const graph::Node& node) {
  KeyHasher hasher;
  hasher.Add("stage", node.stage).Add("folder", "lasting");
  const auto recipe = node.inputs.find("recipe");
  for (const char* field : {"name", "variant", "staging"}) {
    const bool there = recipe != node.inputs.end() && recipe->contains(field);
    hasher.Add(field, there ? (*recipe)[field].dump() : "");
  }
  return hasher.Finish().Hex().substr(0, kNameLength);
}

/// Names of build directories in <cache>/work.
Result<std::vector<std::string>> FolderNames(Env& env) {
  auto names = env.fs.ListDir(WorkRoot(env));
  if (!names && names.error().code() == ErrorCode::kNotFound) return std::vector<std::string>();
  if (!names) return names;
  std::erase_if(*names, [](const std::string& name) {
    return name.size() != kNameLength || name.find_first_not_of("0123456789abcdef") != std::string::npos;
  });
  return names;
}

/// Unless somebody holds it, or nobody can tell.
Result<bool> RemoveIfFree(Env& env, const AbsPath& folder) {
  PTPKG_TRY(std::optional<Lease> lease, Lease::Try(env.fs, folder, LockKind::kExclusive));
  if (!lease || !lease->is_locked()) return false;
  PTPKG_CHECK(std::move(*lease).Remove());
  return true;
}

/// A shell or a script in `folder` holds it as long as its child waits for it.
Result<void> RefuseInside(const Env& env, const AbsPath& folder, const std::string& subject) {
  const auto source = env.variables.find("SRC_DIR");
  const bool inside = source != env.variables.end() && source->second.starts_with(folder.str() + "/");
  if (!inside || env.variables.contains(std::string(builder::kReadByHand))) return Ok();
  return Error(ErrorCode::kUsage, fmt::format("this shell uses the work directory of '{}'", subject))
      .WithHint("exit the shell first");
}

}  // namespace

AbsPath WorkRoot(const Env& env) { return env.cache_dir / "work"; }

bool IsReadAfterScript(std::string_view input) {
  constexpr std::array<std::string_view, 5> kLate = {"recipe.files_include", "recipe.files_exclude",
                                                     "recipe.python_entry_points", "recipe.about",
                                                     "recipe.ptpkg"};
  return std::find(kLate.begin(), kLate.end(), input) != kLate.end();
}

Result<Lease> WaitForLease(Env& env, const AbsPath& folder, const std::string& subject) {
  PTPKG_CHECK(RefuseInside(env, folder, subject));
  int gone = 0;
  for (int turn = 0;;) {
    PTPKG_CHECK(env.fs.MakeDirs(folder), "while creating the work directory");
    PTPKG_TRY(std::optional<Lease> lease, Lease::Try(env.fs, folder, LockKind::kExclusive));
    if (lease) return *std::move(lease);
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_TRY(const LockedFile held, TryLockFile(env.fs, folder / kLeaseName, LockKind::kExclusive));
    if (held.state != LockState::kBusy) {
      if (++gone < kFolderAttempts) continue;
      return Error(ErrorCode::kIo, fmt::format("cannot lock the work directory '{}'", folder.str()))
          .WithHint("use a cache directory of your own: --cache-dir DIR");
    }
    if (++turn == kTurnsBeforeTold) {
      env.reporter.Note(fmt::format("another run is building '{}'; waiting for it", subject));
    }
    env.clock.SleepFor(kTurn);
  }
}

namespace {

/// The lease of a directory that builds of other inputs use too; nullopt while such a build works there. No
/// other run of the same inputs can: it would hold the directory of the inputs.
Result<std::optional<Lease>> TryLeaseStableDir(Env& env, const AbsPath& folder) {
  for (int turn = 0;; ++turn) {
    PTPKG_CHECK(env.fs.MakeDirs(folder), "while creating the work directory");
    PTPKG_TRY(std::optional<Lease> lease, Lease::Try(env.fs, folder, LockKind::kExclusive));
    if (lease || turn == kTurnsBeforeTold) return lease;
    PTPKG_CHECK(env.cancel.Check());
    env.clock.SleepFor(kTurn);
  }
}

/// State that a run left in `folder`, if a later one can resume there.
std::optional<builder::WorkState> UnfinishedIn(Env& env, const AbsPath& folder) {
  const auto state = builder::ReadWorkState(env.fs, folder);
  if (!state || state->phase == WorkPhase::kStarted || state->place != folder.str()) return std::nullopt;
  return *state;
}

/// The lease of the lasting directory; nullopt, with a note, where another build has it or would lose its
/// work.
Result<std::optional<Lease>> LeaseStableDir(Env& env, const AbsPath& folder, const builder::WorkState& own) {
  const auto tell = [&](const std::string& why) {
    env.reporter.Note(fmt::format(
        "{}; building '{}' in a separate directory, for which ccache has no objects", why, own.subject));
    return std::optional<Lease>();
  };
  PTPKG_TRY(std::optional<Lease> lease, TryLeaseStableDir(env, folder));
  if (!lease) return tell("another build of this name is running");
  const auto left = UnfinishedIn(env, folder);
  if (!left || (left->subject == own.subject && left->recipe == own.recipe)) return lease;
  return tell(
      fmt::format("an interrupted build of '{}' ('{}') can still be resumed in the directory of this name",
                  left->subject, left->recipe));
}

}  // namespace

BuildFolder::BuildFolder(Env& env, const graph::Node& node, builder::WorkState state, const AbsPath& root)
    : env_(env),
      subject_(node.subject),
      keep_(node.options.contains("keep-work")),
      never_resumed_(node.options.contains("fresh") && !node.options.at("fresh").empty()),
      state_(std::move(state)),
      root_(root),
      path_(root / "d") {
  state_.place = root.str();
}

Result<std::unique_ptr<graph::Claim>> BuildFolder::Take(Env& env, const graph::Node& node,
                                                        const graph::NodeKey& key) {
  builder::WorkState state{.key = key.key, .subject = node.subject, .inputs = FolderNameOf(node, key)};
  const auto recipe = node.places.find("recipe");
  if (recipe != node.places.end()) state.recipe = recipe->second.str();
  AbsPath root = WorkRoot(env) / state.inputs;
  PTPKG_TRY(Lease own, WaitForLease(env, root, node.subject));
  const bool fresh = node.options.contains("fresh");
  std::optional<Lease> lasting;
  if (node.options.contains("ccache") && own.is_locked() && (fresh || !UnfinishedIn(env, root))) {
    const AbsPath folder = WorkRoot(env) / StableDirName(node);
    PTPKG_TRY(std::optional<Lease> taken, LeaseStableDir(env, folder, state));
    if (taken) {
      lasting.emplace(*std::move(taken));
      root = folder;
    }
  }
  // Not make_unique: the constructor is private.
  std::unique_ptr<BuildFolder> folder(new BuildFolder(env, node, std::move(state), root));
  (lasting ? folder->same_inputs_ : folder->lease_).emplace(std::move(own));
  if (lasting) folder->lease_.emplace(*std::move(lasting));
  PTPKG_CHECK(folder->Open(fresh));
  const Result<void> swept = folder->RemoveSuperseded();
  if (!swept) {
    env.reporter.Warn(fmt::format("cannot remove an unused work directory: {}", swept.error().message()));
  }
  return std::unique_ptr<graph::Claim>(std::move(folder));
}

Result<void> BuildFolder::Open(bool fresh) {
  if (!lease_->is_locked()) {
    env_.reporter.Warn(fmt::format(
        "'{}' is on a file system without locks: ptpkg cannot resume interrupted builds there", root_.str()));
    PTPKG_TRY(TempDir scratch, TempDir::Create(env_.fs, WorkRoot(env_), "node"));
    path_ = scratch.path();
    root_ = path_.Parent();
    scratch_.emplace(std::move(scratch));
    return Ok();
  }
  PTPKG_CHECK(ReadEarlierState());
  // Possible only in the shared directory: the other is named after its inputs.
  if (left_.phase != WorkPhase::kStarted && left_.inputs != state_.inputs) {
    env_.reporter.Note(
        fmt::format("removing an interrupted build of '{}': its inputs have changed", left_.subject));
    left_ = {};
  }
  if (fresh && left_.phase != WorkPhase::kStarted) {
    env_.reporter.Note(fmt::format("'{}' starts over; removing the files of the interrupted run", subject_));
    left_ = {};
  }
  if (left_.phase == WorkPhase::kStarted) return StartOver();
  state_.prepared_ns = left_.prepared_ns;
  state_.phase = left_.phase;
  return env_.fs.MakeDirs(path_);
}

Result<void> BuildFolder::ReadEarlierState() {
  Result<builder::WorkState> read = builder::ReadWorkState(env_.fs, root_);
  if (read && read->place == root_.str()) {
    left_ = *std::move(read);
    return Ok();
  }
  if (!read && read.error().code() == ErrorCode::kNotFound) return Ok();
  if (!read && read.error().code() == ErrorCode::kIo) return std::move(read).error();
  const std::string why =
      read ? fmt::format("it was created as '{}', and its files contain that path", read->place)
           : read.error().message();
  env_.reporter.Warn(fmt::format(
      "'{}' starts over: cannot resume in the work directory of the interrupted run: {}", subject_, why));
  return Ok();
}

Result<void> BuildFolder::RemoveSuperseded() {
  PTPKG_TRY(const std::vector<std::string> names, FolderNames(env_));
  for (const std::string& name : names) {
    const AbsPath folder = WorkRoot(env_) / name;
    if (folder == root_) continue;
    const auto other = builder::ReadWorkState(env_.fs, folder);
    // The same build with --ccache: its command can still resume there.
    if (other && other->inputs == state_.inputs) continue;
    if (!other || other->subject != state_.subject || other->recipe != state_.recipe) continue;
    PTPKG_TRY(const bool removed, RemoveIfFree(env_, folder));
    if (!removed) continue;
    env_.reporter.Note(
        fmt::format("removing an interrupted build of '{}': its inputs have changed", subject_));
  }
  return Ok();
}

Result<void> BuildFolder::SetPhase(WorkPhase phase) {
  state_.phase = phase;
  if (scratch_) return Ok();
  state_.boot_id = builder::BootId(env_.fs);
  if (phase == WorkPhase::kPrepared) state_.prepared_ns = builder::NowNs(env_);
  return builder::WriteWorkState(env_.fs, root_, state_);
}

Result<void> BuildFolder::StartOver() {
  left_ = {};
  // First: a kill between these steps must not leave a phase that promises files.
  PTPKG_CHECK(SetPhase(WorkPhase::kStarted));
  PTPKG_CHECK(RemoveTree(env_.fs, path_));
  PTPKG_CHECK(RemoveTree(env_.fs, record()));
  return env_.fs.MakeDirs(path_);
}

BuildFolder::~BuildFolder() {
  // The next run's sweep is the second net.
  if (lease_ && !scratch_ && IsEmpty()) static_cast<void>(std::move(*lease_).Remove());
  // Last: who waits for it may use the other directory next.
  lease_.reset();
  if (same_inputs_) static_cast<void>(std::move(*same_inputs_).Remove());
}

bool BuildFolder::IsEmpty() const { return state_.phase == WorkPhase::kStarted && !keep_; }

void BuildFolder::Failed() {
  if (scratch_) {
    if (keep_) static_cast<void>(Finish());  // why the build failed counts
  } else if (!IsEmpty()) {
    env_.reporter.Note(fmt::format("kept work directory '{1}'{0}",
                                   never_resumed_ ? "" : "; rerun the same command to resume", path_.str()));
  }
}

void BuildFolder::OnStored() {
  const Result<void> finished = Finish();
  if (!finished) {
    env_.reporter.Warn(
        fmt::format("cannot remove the work directory of '{}': {}", subject_, finished.error().message()));
  }
}

Result<void> BuildFolder::Finish() {
  if (keep_ && (scratch_ || state_.phase == WorkPhase::kInstalled)) {
    PTPKG_CHECK(KeepFolder(env_, path_, subject_, state_.key));
  }
  if (!lease_ || scratch_) return Ok();
  Result<void> removed = std::move(*lease_).Remove();
  lease_.reset();
  return removed;
}

Result<void> PruneWorkDirs(Env& env, const std::function<Result<bool>(const std::string& key)>& has_result) {
  PTPKG_TRY(const std::vector<std::string> names, FolderNames(env));
  for (const std::string& name : names) {
    const AbsPath folder = WorkRoot(env) / name;
    const auto state = builder::ReadWorkState(env.fs, folder);
    const auto stat = env.fs.Lstat(folder / "state.json");
    // A run that has just made the directory holds it, or makes it again.
    bool useless = state ? state->phase == WorkPhase::kStarted : state.error().code() == ErrorCode::kNotFound;
    bool forgotten = false;
    if (state && !useless) {
      PTPKG_TRY(useless, has_result(state->key));
    }
    if (stat) {
      // A run writes the state at each phase, so its time is the time of the last attempt.
      const std::int64_t age = builder::NowNs(env) - stat->mtime_ns;
      forgotten = age > std::chrono::nanoseconds(kForgottenAfter).count();
    }
    if (!useless && !forgotten) continue;
    PTPKG_TRY(const bool removed, RemoveIfFree(env, folder), "while removing an unused work directory");
    if (!removed || useless) continue;
    env.reporter.Note(fmt::format("removing an interrupted build of '{}': it was not resumed for {} days",
                                  state ? state->subject : name, kForgottenAfter.count() / 24));
  }
  return Ok();
}

}  // namespace ptpkg::pipeline
