// Idea: a command that was cut off leaves files that look newer than their sources and hold half of what they
// should. Which files these are, their times tell: all that was written within a window before the last write
// of all (builder/resume/partial_outputs.h). Outputs among them are removed, so the build makes them again.
// Synchronised sources among them are distrusted, so the next synchronisation copies them again.
// Invariants: nothing is removed before all checks of this file have passed; a file that the host
// prefix brought is never removed; a file of a fixed source that changed makes the directory unusable,
// because nobody can tell what it held.

#include "pipeline/develop/dev_restore.h"

#include <algorithm>
#include <chrono>
#include <fmt/core.h>
#include <optional>
#include <set>

#include "builder/resume/partial_outputs.h"
#include "builder/resume/resume.h"
#include "builder/script/failed_commands.h"
#include "pipeline/develop/dev.h"
#include "pipeline/stages/staging_inputs.h"
#include "source/walk.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

using builder::RunEndKind;

/// End of a run that was stopped or failed.
struct Interruption {
  RunEndKind kind;
  builder::FailedCommands failed;  ///< Commands that failed before.
  std::int64_t since_ns;           ///< Unfinished commands may have written at this time or later.
};

/// The newest of `files`, but for times in the future, which say nothing.
std::int64_t NewestMtime(Env& env, const std::vector<source::WalkEntry>& files) {
  const std::int64_t now = builder::NowNs(env);
  std::int64_t last = 0;
  for (const source::WalkEntry& file : files) {
    if (file.stat.mtime_ns <= now) last = std::max(last, file.stat.mtime_ns);
  }
  return last;
}

/// The end of the last run, by the times of `files`, which lie in the sources.
Result<Interruption> FindInterruption(Env& env, const DevFiles& dev, RunEndKind kind,
                                      const std::vector<source::WalkEntry>& files) {
  const std::chrono::nanoseconds window =
      kind == RunEndKind::kMachine ? builder::kMachineWindow : builder::kProcessesWindow;
  PTPKG_TRY(builder::FailedCommands failed,
            builder::ReadFailedCommands(env.fs, builder::FailedCommandsFile(dev.layout)));
  std::int64_t last = NewestMtime(env, files);
  if (failed.first_ns) last = std::min(last, *failed.first_ns);
  return Interruption{.kind = kind, .failed = std::move(failed), .since_ns = last - window.count()};
}

/// Reverts sources that a person has changed in `ptpkg shell`. Returns why no run can resume, or "".
Result<std::string> RevertEditsByHand(Env& env, const DevFiles& dev, builder::SyncRecord& record) {
  auto read = builder::SourceRecord::Read(env, builder::ShellRecordFile(dev.folder.root()));
  if (!read && read.error().code() == ErrorCode::kNotFound) return std::string();
  builder::SourceRecord entered;
  PTPKG_TRY(const std::string why, TakeRecord(std::move(read), entered));
  if (!why.empty()) return why;
  const AbsPath& root = dev.layout.source;
  PTPKG_TRY(const std::vector<source::WalkEntry> files, source::Walk(env, root));
  PTPKG_TRY(const auto changes, entered.Changes(env, root, files));
  std::vector<RelPath> edited;
  for (const auto& [path, state] : changes) {
    const auto found = record.files.find(path);
    if (found == record.files.end()) {
      if (!dev.fixed.Holds(path)) continue;  // the build's
      return fmt::format("'{}', from a source that is patched, unpacked or from git, was changed by hand",
                         path.str());
    }
    if (builder::SourceRecord::StateOf(found->second.digest, found->second.executable) == state) continue;
    record.Distrust(path);
    edited.push_back(path);
  }
  if (!edited.empty()) {
    env.reporter.Warn(
        fmt::format("restored from the sources because they were changed in the directory of 'ptpkg dev': "
                    "{}. Edit the sources instead",
                    FirstNames(PathTexts(edited), kMostShown)));
  }
  return std::string();
}

/// Removes the files of the sources that were being written when the script or the machine was stopped.
/// `files`: those that lie there, but for the synchronised ones. Returns why no run can resume, or "".
Result<std::string> RemovePartialOutputs(Env& env, const DevFiles& dev, const Interruption& end,
                                         const std::vector<source::WalkEntry>& files) {
  const AbsPath& root = dev.layout.source;
  builder::SourceRecord sources;
  PTPKG_TRY(const std::string why,
            TakeRecord(builder::SourceRecord::Read(env, dev.folder.root() / "sources"), sources));
  if (!why.empty()) return why;
  PTPKG_TRY(const builder::PartialOutputs cut,
            builder::FindPartialOutputs(env, root, files, sources, {end.kind, end.failed}));
  if (!cut.sources.empty()) {
    return fmt::format("'{}' of its sources was being changed", cut.sources.front().str());
  }
  for (const RelPath& path : cut.outputs) PTPKG_CHECK(env.fs.Remove(root / path));
  return std::string();
}

/// Removes what scripts have installed at `since` or later, and what is half-written there for sure; the
/// whole script then installs it anew. Returns true if there was such a file.
Result<bool> RemoveInstalled(Env& env, const DevFiles& dev, std::optional<std::int64_t> since,
                             const builder::FailedCommands& failed) {
  const AbsPath& prefix = dev.layout.prefix;
  PTPKG_TRY(const std::vector<RelPath> of_host, dev.folder.ReadHostFiles());
  const std::set<RelPath> kept(of_host.begin(), of_host.end());
  PTPKG_TRY(const std::vector<source::WalkEntry> files, source::Walk(env, prefix));
  bool removed = false;
  for (const source::WalkEntry& file : files) {
    const bool late = since && file.stat.mtime_ns >= *since;
    // A relative one is in the build: what is called so here was installed from there, whole.
    const bool half = late || failed.targets.contains((prefix / file.path).str());
    if (!half || kept.contains(file.path)) continue;
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_CHECK(env.fs.Remove(prefix / file.path));
    removed = true;
  }
  return removed;
}

/// Undoes what the last run left when it, or the machine, was stopped.
Result<DevRestoration> UndoInterruption(Env& env, const DevFiles& dev, RunEndKind kind,
                                        builder::SyncRecord& record) {
  // A script that failed by itself was writing nothing when it ended.
  const bool cut_off = kind == RunEndKind::kMachine || !dev.folder.left()->script_ended;
  if (cut_off && dev.inherits) {
    return DevRestoration{.obstacle =
                              "its script was interrupted, and its output is mixed with the inherited files"};
  }
  PTPKG_TRY(std::vector<source::WalkEntry> files, source::Walk(env, dev.layout.source));
  PTPKG_TRY(const Interruption end, FindInterruption(env, dev, kind, files));
  // Sources keep their times when they are first copied, and so do not tell that they may be lost.
  if (kind == RunEndKind::kMachine && end.since_ns < dev.folder.prepared_ns()) {
    return DevRestoration{.obstacle = "the machine went down soon after it was created"};
  }
  PTPKG_TRY(const std::size_t copied_again,
            builder::DistrustFilesWrittenSince(env, dev.layout.source, files, end.since_ns, record));
  std::erase_if(files, [&](const source::WalkEntry& file) { return record.files.contains(file.path); });
  PTPKG_TRY(std::string why, RemovePartialOutputs(env, dev, end, files));
  if (!why.empty()) return DevRestoration{.obstacle = std::move(why)};
  std::optional<std::int64_t> installed_since;
  // Files copied with their source's times do not show when they were written; a power cut may lose them.
  if (cut_off) installed_since = kind == RunEndKind::kMachine ? 0 : end.since_ns;
  PTPKG_TRY(const bool removed, RemoveInstalled(env, dev, installed_since, end.failed));
  // The script may have patched what is copied again.
  return DevRestoration{.needs_whole_script = copied_again > 0 || removed};
}

}  // namespace

Result<DevRestoration> RestoreDevFiles(Env& env, const DevFiles& dev, builder::SyncRecord& record) {
  PTPKG_TRY(std::string why, RevertEditsByHand(env, dev, record));
  if (!why.empty()) return DevRestoration{.obstacle = std::move(why)};
  const bool script = dev.folder.phase() == builder::WorkPhase::kScript;
  // If the machine's runs cannot be told apart, a power cut is considered after a script alone.
  const bool machine = dev.folder.is_other_boot() && (script || !builder::BootId(env.fs).empty());
  if (!script && !machine) return DevRestoration();
  return UndoInterruption(env, dev, machine ? RunEndKind::kMachine : RunEndKind::kProcesses, record);
}

}  // namespace ptpkg::pipeline
