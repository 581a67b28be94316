// Each wheel is planned, checked and placed by itself, in this order: plan, reserve the result's name, refuse
// an existing file, write next to the target, check, rename. A dry run takes the same steps up to the rename,
// in the cache, so it reports the same findings.
//
// The check judges the written wheel, not the plan. It refuses errors that a repair is responsible for
// (kFindingsOfRepair), but not others, which the wheel had before. Libraries that were excluded on purpose
// may stay unresolved. A wheel that needs no change is checked too, then copied byte for byte, so its
// signatures stay valid.
//
// A failure ends the run and keeps the wheels before it: each of them is complete.

#include "pipeline/commands/repair_command.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <set>

#include "pipeline/edit_wheel/edited_wheel.h"
#include "pipeline/edit_wheel/wheel_form.h"
#include "pipeline/plan/result_names.h"
#include "repair/repair_wheel.h"
#include "support/files/scratch.h"
#include "support/text/text.h"
#include "verify/input_gate.h"

namespace ptpkg::pipeline {
namespace {

/// Findings that a repair is responsible for, besides the tags.
constexpr std::array<std::string_view, 19> kFindingsOfRepair = {"elf-damaged",
                                                                "elf-dlopen-renamed",
                                                                "elf-filter",
                                                                "elf-search-path-absolute",
                                                                "elf-search-path-empty",
                                                                "elf-search-path-pad",
                                                                "elf-search-path-relative",
                                                                "elf-search-path-stubs",
                                                                "elf-undefined-symbol",
                                                                "elf-unreachable-needed",
                                                                "elf-unresolved-needed",
                                                                "elf-version-missing",
                                                                "elf-version-requirement",
                                                                "wheel-build-mismatch",
                                                                "wheel-record-digest",
                                                                "wheel-record-invalid",
                                                                "wheel-record-missing",
                                                                "wheel-record-unlisted",
                                                                "wheel-zip"};

std::string PathWords(const elf::LinkFacts& facts) {
  const auto& path = facts.Effective();
  if (!path) return "none";
  return fmt::format("'{}'{}", path->text, path->tag == elf::PathTag::kRpath ? "" : " (RUNPATH)");
}

/// Changes of one file, for people.
std::vector<std::string> WordsFor(const repair::ChangedFile& file) {
  std::vector<std::string> words;
  if (file.stripped) words.emplace_back("stripped");
  if (PathWords(file.before) != PathWords(file.after))
    words.push_back(fmt::format("search path {}, was {}", PathWords(file.after), PathWords(file.before)));
  for (const repair::DroppedEntry& entry : file.dropped)
    words.push_back(fmt::format("without '{}', which {}", entry.text, entry.why));
  if (file.before.soname != file.after.soname)
    words.push_back(fmt::format("calls itself '{}', was '{}'", file.after.soname.value_or(""),
                                file.before.soname.value_or("")));
  if (file.before.needed.size() == file.after.needed.size()) {
    for (std::size_t i = 0; i < file.after.needed.size(); ++i) {
      if (file.before.needed[i] != file.after.needed[i])
        words.push_back(fmt::format("needs '{}', was '{}'", file.after.needed[i], file.before.needed[i]));
    }
    return words;
  }
  for (const std::string& name : file.before.needed) {
    const auto& left = file.after.needed;
    if (std::find(left.begin(), left.end(), name) == left.end())
      words.push_back(fmt::format("no longer needs '{}'", name));
  }
  return words;
}

std::string FloorWords(const verify::ComputedPlatform& computed) {
  if (!computed.set_by) return {};
  std::vector<std::string> versions;
  for (const elf::RequiredVersion& version : computed.set_by->set_by) versions.push_back(version.version);
  const std::vector<std::string>& names = computed.set_by->set_by_names;
  versions.insert(versions.end(), names.begin(), names.end());
  if (versions.empty()) return {};
  return fmt::format("{}: {}", computed.set_by->file, Join(versions, ", "));
}

RepairOutcome Tell(const AbsPath& from, const AbsPath& to, const repair::WheelRepair& repair) {
  RepairOutcome outcome{.from = from,
                        .to = to,
                        .changed = repair.ChangesAnything(),
                        .platform_before = repair.platform_before,
                        .platform = repair.name.tag.platform,
                        .floor = FloorWords(repair.computed)};
  for (const repair::Graft& graft : repair.grafts) {
    const auto owner = repair.owners.find(graft.source);
    const bool owned = owner != repair.owners.end();
    outcome.grafted.push_back({.source = graft.source.str(),
                               .path = graft.path,
                               .package = owned ? owner->second.name + " " + owner->second.version : "",
                               .opened_by = graft.opened_by});
  }
  for (const repair::ExcludedLibrary& left : repair.left_out)
    outcome.left_out.emplace_back(left.library, left.why);
  for (const repair::ChangedFile& file : repair.files)
    outcome.files.push_back({.path = file.path, .changes = WordsFor(file)});
  if (!repair.wheel_file.changes.empty())
    outcome.files.push_back({.path = repair.wheel_file.path, .changes = repair.wheel_file.changes});
  return outcome;
}

class WheelRepairs {
 public:
  WheelRepairs(Env& env, const RepairRun& run) : env_(env), run_(run) {}

  Result<void> Read() {
    PTPKG_TRY(rules_, repair::GraftRules::BuiltIn());
    if (!run_.backend.empty()) {
      PTPKG_TRY(options_.backend, rules_->FindBackend(run_.backend));
    }
    PTPKG_TRY(const std::string platform, ParsePlatform(run_.platform));
    if (!platform.empty() && platform != "auto") options_.platform = platform;
    if (!run_.rename.empty()) {
      PTPKG_TRY(options_.rename, repair::ParseRename(run_.rename));
    }
    options_.folder = run_.lib_folder;
    options_.exclude = run_.exclude;
    unused_excludes_ = {run_.exclude.begin(), run_.exclude.end()};
    options_.opened = run_.opened;
    options_.search = run_.search;
    options_.strip = run_.strip;
    return Ok();
  }

  /// REQUIRES: all wheels are repaired.
  void WarnOfUnusedExcludes() const {
    for (const std::string& glob : unused_excludes_) {
      env_.reporter.Warn(
          fmt::format("--exclude '{}' has no effect: no bundled library has that name or path", glob));
    }
  }

  Result<RepairOutcome> RepairOne(const AbsPath& wheel) {
    Task task(env_.reporter, {.stage = "repair", .subject = std::string(wheel.Name())});
    PTPKG_TRY(const repair::WheelRepair repair, repair::PlanRepair(env_, wheel, options_));
    const std::string name = repair.ChangesAnything() ? repair.name.str() : std::string(wheel.Name());
    const AbsPath to = run_.output.value_or(wheel.Parent()) / name;
    PTPKG_CHECK(names_.Take(to, "repair"));
    for (const std::string& glob : repair.excludes_used) unused_excludes_.erase(glob);
    RepairOutcome outcome = Tell(wheel, to, repair);
    PTPKG_TRY(const bool taken, Exists(env_.fs, to));
    if (taken && !outcome.changed) {
      PTPKG_TRY(outcome.stays, IsOneFile(env_, outcome.from, outcome.to));
    }
    // A dry run reports the same findings as the run.
    if (taken && !outcome.stays && !run_.force) return NameTakenError(outcome.to, /*has_force=*/true);
    PTPKG_CHECK(outcome.changed ? WriteChanged(outcome, repair) : CopyUnchanged(outcome, repair));
    task.Done(!outcome.changed        ? "nothing to change"
              : outcome.files.empty() ? "tag changed"
                                      : fmt::format("{} of its files changed", outcome.files.size()));
    return outcome;
  }

 private:
  Result<void> WriteChanged(const RepairOutcome& outcome, const repair::WheelRepair& repair) {
    const std::optional<RegressionCheck> judgement = RegressionCheckFor(repair);
    const EditedWheel wheel{.from = outcome.from, .to = outcome.to, .edits = repair.edits};
    if (!run_.dry_run) {
      const ExistingFilePolicy on_existing =
          run_.force ? ExistingFilePolicy::kReplace : ExistingFilePolicy::kRefuse;
      return WriteEditedWheel(env_, wheel, on_existing, judgement);
    }
    // A dry run must not write next to the wheel.
    if (judgement) PTPKG_CHECK(StageEditedWheel(env_, wheel, env_.cache_dir, judgement));
    return Ok();
  }

  /// A wheel that needs no change promises as much as a repaired one.
  Result<void> CopyUnchanged(const RepairOutcome& outcome, const repair::WheelRepair& repair) {
    if (const auto judgement = RegressionCheckFor(repair))
      PTPKG_CHECK(CheckForRegressions(env_, outcome.from, *judgement));
    if (run_.dry_run || outcome.stays) return Ok();
    return CopyWheel(outcome.from, outcome.to);
  }

  /// Byte for byte: a signature or digest of the wheel is valid for the copy too.
  Result<void> CopyWheel(const AbsPath& from, const AbsPath& to) {
    PTPKG_TRY(const TempDir scratch, TempDir::Create(env_.fs, to.Parent(), "edited"));
    const AbsPath fresh = scratch.path() / to.Name();
    PTPKG_CHECK(env_.fs.CopyFile(from, fresh));
    return PlaceFile(env_, fresh, to,
                     run_.force ? ExistingFilePolicy::kReplace : ExistingFilePolicy::kRefuse);
  }

  [[nodiscard]] std::optional<RegressionCheck> RegressionCheckFor(const repair::WheelRepair& repair) const {
    if (!run_.check) return std::nullopt;
    RegressionCheck judgement{
        .refused = {kFindingsOfTags.begin(), kFindingsOfTags.end()},
        .hint = "fix these findings, exclude libraries with --exclude, or choose another --platform"};
    judgement.refused.insert(judgement.refused.end(), kFindingsOfRepair.begin(), kFindingsOfRepair.end());
    judgement.refused.insert(judgement.refused.end(), verify::kFindingsOfLayout.begin(),
                             verify::kFindingsOfLayout.end());
    std::vector<std::string>& allowed = judgement.options.allow_unresolved;
    allowed = run_.exclude;
    // Libraries left out by path are needed by name.
    for (const repair::ExcludedLibrary& left : repair.left_out) {
      const bool of_machine = rules_ && !rules_->MachineLibraryReason(left.library).empty();
      if (left.why == repair::kExcluded || of_machine) allowed.push_back(left.library);
    }
    if (options_.backend) {
      const std::vector<std::string>& left = options_.backend->never_graft;
      allowed.insert(allowed.end(), left.begin(), left.end());
    }
    return judgement;
  }

  Env& env_;
  const RepairRun& run_;
  repair::RepairOptions options_;
  std::optional<repair::GraftRules> rules_;
  ResultNames names_;
  std::set<std::string> unused_excludes_;
};

}  // namespace

Result<RepairSummary> Repair(Env& env, const RepairRun& run) {
  WheelRepairs repairs(env, run);
  PTPKG_CHECK(repairs.Read());
  if (!run.dry_run && run.output) PTPKG_CHECK(env.fs.MakeDirs(*run.output));
  RepairSummary summary;
  for (const AbsPath& wheel : run.wheels) {
    const Result<void> cancelled = env.cancel.Check();
    // For each wheel, since without --output results lie next to their wheels.
    if (!run.dry_run) RemoveAbandonedScratch(env, run.output.value_or(wheel.Parent()));
    Result<RepairOutcome> outcome =
        cancelled ? repairs.RepairOne(wheel) : Result<RepairOutcome>(cancelled.error());
    if (!outcome) {
      summary.failure =
          std::move(outcome).error().WithContext(fmt::format("while repairing '{}'", wheel.str()));
      break;
    }
    summary.outcomes.push_back(*std::move(outcome));
  }
  if (!summary.failure) repairs.WarnOfUnusedExcludes();
  return summary;
}

Result<std::vector<std::string>> BackendNames() {
  PTPKG_TRY(const repair::GraftRules rules, repair::GraftRules::BuiltIn());
  return rules.BackendNames();
}

std::vector<std::string> RenameNames() { return repair::RenameNames(); }

}  // namespace ptpkg::pipeline
