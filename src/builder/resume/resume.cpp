// A work directory may be resumed only if nothing in it can be half-written without ptpkg knowing. The checks
// go from cheap to exact, and any doubt starts the build over:
//
// - the phase of the earlier run, and whether the source directory exists
// - no edits by hand, by the record of `ptpkg shell`
// - a readable record of the sources
// - after a power loss, no writes within the window in which the disk may have lost them
//
// Then the sources are compared with their record. Outputs that were being written when the run ended are
// removed, so that the build system makes them again. A source that was being changed at that moment is a
// doubt.
//
// Invariant: a script that ended with success leaves nothing half-written, unless the machine went down with
// it.

#include "builder/resume/resume.h"

#include <algorithm>
#include <fmt/core.h>

#include "builder/env/environment_file.h"
#include "builder/resume/partial_outputs.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

ResumableWorkDir Unusable(std::string why) { return {.sources = std::nullopt, .why_not = std::move(why)}; }

RunEndKind EndOf(Env& env, const WorkState& state) {
  return !state.boot_id.empty() && state.boot_id == BootId(env.fs) ? RunEndKind::kProcesses
                                                                   : RunEndKind::kMachine;
}

/// After a power loss what was written last may be missing; the sources are read by their sizes alone.
bool MayBeLost(const WorkState& state, const std::vector<source::WalkEntry>& files, RunEndKind end) {
  if (end == RunEndKind::kProcesses) return false;
  std::int64_t last = state.prepared_ns;
  for (const source::WalkEntry& file : files) last = std::max(last, file.stat.mtime_ns);
  return last - state.prepared_ns < std::chrono::nanoseconds(kMachineWindow).count();
}

Result<bool> IsTouchedByHand(Env& env, const WorkLayout& layout, const AbsPath& work) {
  const Result<SourceRecord> entered = SourceRecord::Read(env, ShellRecordFile(work));
  // No record: nobody entered. A damaged one is a doubt, and counts as touched.
  if (!entered) return entered.error().code() != ErrorCode::kNotFound;
  PTPKG_TRY(const SourceRecord now, SourceRecord::Take(env, layout.source));
  return now != *entered;
}

}  // namespace

AbsPath ShellRecordFile(const AbsPath& work) { return work / "entered"; }

Result<ResumableWorkDir> RecoverSources(Env& env, const WorkLayout& layout, const AbsPath& record,
                                        const WorkState& state) {
  if (state.phase == WorkPhase::kStarted) return ResumableWorkDir{};
  PTPKG_TRY(const bool there, Exists(env.fs, layout.source));
  if (!there) return Unusable("its sources are missing");
  PTPKG_TRY(const bool touched, IsTouchedByHand(env, layout, record.Parent()));
  if (touched) return Unusable("files in it were changed by hand");
  Result<SourceRecord> read = SourceRecord::Read(env, record);
  if (!read && read.error().code() == ErrorCode::kIo) return std::move(read).error();
  if (!read) return Unusable(read.error().message());
  RecoveredSources left{.record = *std::move(read)};
  PTPKG_TRY(const std::vector<source::WalkEntry> files, source::Walk(env, layout.source));
  const RunEndKind end = EndOf(env, state);
  if (MayBeLost(state, files, end)) return Unusable("the machine went down soon after it was created");
  left.script_ran = state.phase != WorkPhase::kPrepared;
  PTPKG_TRY(left.changes, left.record.Changes(env, layout.source, files));
  if (!left.script_ran) {
    if (left.changes.empty()) return ResumableWorkDir{.sources = std::move(left)};
    return Unusable(fmt::format("'{}' of its sources is damaged", left.changes.begin()->first.str()));
  }
  // A script that ended well left nothing half done, unless the machine went down with it.
  if (state.phase == WorkPhase::kInstalled && end == RunEndKind::kProcesses) {
    return ResumableWorkDir{.sources = std::move(left)};
  }
  PTPKG_TRY(const FailedCommands failed, ReadFailedCommands(env.fs, FailedCommandsFile(layout)));
  PTPKG_TRY(const PartialOutputs in_flight,
            FindPartialOutputs(env, layout.source, files, left.record, {end, failed}));
  if (!in_flight.sources.empty()) {
    return Unusable(fmt::format("'{}' of its sources was being changed", in_flight.sources.front().str()));
  }
  for (const RelPath& path : in_flight.outputs) {
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_CHECK(env.fs.Remove(layout.source / path), "while removing half-written files");
  }
  left.removed_outputs = in_flight.outputs.size();
  return ResumableWorkDir{.sources = std::move(left)};
}

Result<std::optional<RelPath>> FirstConflictingChange(Env& env, const AbsPath& source,
                                                      const RecoveredSources& left) {
  if (left.changes.empty()) return std::optional<RelPath>();
  PTPKG_TRY(const std::vector<source::WalkEntry> files, source::Walk(env, source));
  PTPKG_TRY(const auto now, left.record.Changes(env, source, files));
  for (const auto& [path, digest] : left.changes) {
    const auto found = now.find(path);
    if (found == now.end() || found->second != digest) return std::optional(path);
  }
  return std::optional<RelPath>();
}

namespace {

/// Processes whose environment this process may read, except those started by a person in a shell that has
/// read the environment file.
std::vector<std::string> ProcessesWith(Fs& fs, const std::string& assignment) {
  const std::string by_hand = fmt::format("{}=1", kReadByHand);
  const AbsPath proc = AbsPath::Literal("/proc");
  std::vector<std::string> found;
  const auto names = fs.ListDir(proc);
  if (!names) return found;
  for (const std::string& name : *names) {
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto environment = ReadFile(fs, proc / name / "environ");
    if (!environment) continue;
    const std::vector<std::string> variables = Split(*environment, '\0');
    const auto holds = [&](const std::string& text) {
      return std::find(variables.begin(), variables.end(), text) != variables.end();
    };
    if (holds(assignment) && !holds(by_hand)) found.push_back(name);
  }
  return found;
}

}  // namespace

Result<void> WaitForEarlierScript(Env& env, const WorkLayout& layout) {
  constexpr std::chrono::milliseconds kTurn{100};
  constexpr int kTurnsBeforeTold = 10;  // a killed process is gone within a moment
  for (int turn = 0;; ++turn) {
    const std::vector<std::string> processes = ProcessesWith(env.fs, "SRC_DIR=" + layout.source.str());
    if (processes.empty()) return Ok();
    PTPKG_CHECK(env.cancel.Check());
    if (turn == kTurnsBeforeTold) {
      env.reporter.Note(fmt::format("the script of an interrupted run still runs in '{}'; waiting for {} {}",
                                    layout.source.str(), processes.size() == 1 ? "process" : "the processes",
                                    Join(processes, ", ")));
    }
    env.clock.SleepFor(kTurn);
  }
}

Result<void> EmptyAllExceptSource(Env& env, const WorkLayout& layout) {
  PTPKG_CHECK(RemoveTree(env.fs, layout.recipe_copy));
  PTPKG_CHECK(RemoveTree(env.fs, layout.root / "script"));
  for (const AbsPath& folder : {layout.prefix, layout.build_prefix, layout.home, layout.temp}) {
    PTPKG_CHECK(RemoveTree(env.fs, folder));
    PTPKG_CHECK(env.fs.MakeDirs(folder));
  }
  return Ok();
}

}  // namespace ptpkg::builder
