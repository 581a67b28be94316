// Several wheels change together or not at all, as far as that is possible: all are planned, then all written
// and checked as scratch files, and only then renamed one after the other. `outcomes` has the wheels that got
// their names, whatever happens after. Old wheels are removed last.
//
// The scratch file lies in the target directory, because a rename needs the same file system.
//
// The check refuses findings about tags and layout. A new platform tag is also compared with the files, but
// only if it claims a platform that the old name did not have. A new Python or ABI tag adds the checks of
// extension modules.

#include "pipeline/commands/retag_command.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "pipeline/edit_wheel/edited_wheel.h"
#include "pipeline/edit_wheel/wheel_form.h"
#include "pipeline/plan/result_names.h"
#include "support/text/text.h"
#include "verify/input_gate.h"

namespace ptpkg::pipeline {
namespace {

constexpr std::array<std::string_view, 3> kFindingsOfExtensions = {"wheel-extension-tag", "wheel-none-abi",
                                                                   "wheel-stable-abi"};
constexpr std::array<std::string_view, 2> kFindingsOfInterpreters = {"wheel-python-nobody",
                                                                     "wheel-tag-nobody"};

struct Planned {
  AbsPath from;
  AbsPath to;
  archive::ZipEdits edits;
};

std::string FrameOf(const Planned& one) { return fmt::format("while retagging '{}'", one.from.str()); }

/// --platform has to be a tag of a file name. "auto" and "linux" would choose one.
Result<void> CheckPlatformTag(const wheel::RetagRequest& changes) {
  if (!changes.platform) return Ok();
  const Result<std::string> platform = ParsePlatform(ToLower(*changes.platform));
  if (platform && *platform != "auto" && *platform != "linux") return Ok();
  return Error(ErrorCode::kUsage, fmt::format("--platform '{}' is not a platform tag", *changes.platform))
      .WithHint("add the architecture, as in manylinux_2_28_x86_64; 'ptpkg repair' computes the tag");
}

Result<std::vector<Planned>> PlanAll(Env& env, const RetagRun& run) {
  std::vector<Planned> planned;
  ResultNames names;
  for (const AbsPath& wheel : run.wheels) {
    PTPKG_TRY(wheel::Retagging one, wheel::PlanRetag(env, wheel, run.changes));
    const AbsPath to = run.output.value_or(wheel.Parent()) / one.name.str();
    if (!run.dry_run) RemoveAbandonedScratch(env, to.Parent());
    PTPKG_CHECK(names.Take(to, "retag"));
    PTPKG_TRY(const bool taken, Exists(env.fs, to));
    // Before any wheel is written: a refusal at the last of them would come late.
    if (taken && !run.force) return NameTakenError(to, true);
    planned.push_back({.from = wheel, .to = to, .edits = std::move(one.edits)});
  }
  return planned;
}

/// True if the new name has a platform that the old one did not have.
bool ClaimsPlatform(const Planned& one) {
  const auto before = wheel::FileName::Parse(one.from.Name());
  const auto after = wheel::FileName::Parse(one.to.Name());
  if (!before || !after) return true;
  const std::vector<std::string> had = Split(before->tag.platform, '.');
  const std::vector<std::string> has = Split(after->tag.platform, '.');
  return std::any_of(has.begin(), has.end(), [&](const std::string& platform) {
    return std::find(had.begin(), had.end(), platform) == had.end();
  });
}

/// A change of the platform does not ask about extensions, which say nothing of it; and the reverse.
std::optional<RegressionCheck> RegressionCheckFor(const RetagRun& run, const Planned& one) {
  if (!run.check || !run.changes.ChangesTags()) return std::nullopt;
  RegressionCheck judgement{.refused = {kFindingsOfTags.begin(), kFindingsOfTags.end()},
                            .hint = "choose tags that the files satisfy",
                            .platform = run.changes.platform && ClaimsPlatform(one)};
  auto& refused = judgement.refused;
  refused.insert(refused.end(), verify::kFindingsOfLayout.begin(), verify::kFindingsOfLayout.end());
  refused.insert(refused.end(), kFindingsOfInterpreters.begin(), kFindingsOfInterpreters.end());
  if (run.changes.python || run.changes.abi)
    refused.insert(refused.end(), kFindingsOfExtensions.begin(), kFindingsOfExtensions.end());
  return judgement;
}

/// Each in the directory that it is meant for, whose file system has to have the room; of a dry run in the
/// cache.
Result<std::vector<StagedWheel>> StageAll(Env& env, const RetagRun& run,
                                          const std::vector<Planned>& planned) {
  std::vector<StagedWheel> staged;
  for (const Planned& one : planned) {
    PTPKG_CHECK(env.cancel.Check());
    const std::optional<RegressionCheck> judgement = RegressionCheckFor(run, one);
    if (run.dry_run && !judgement) continue;
    PTPKG_TRY(StagedWheel wheel,
              StageEditedWheel(env, {.from = one.from, .to = one.to, .edits = one.edits},
                               run.dry_run ? env.cache_dir : one.to.Parent(), judgement),
              FrameOf(one));
    if (!run.dry_run) staged.push_back(std::move(wheel));
  }
  return staged;
}

/// Puts the wheels in their places; `outcomes` has those that are there, whatever happens.
Result<void> PlaceAll(Env& env, const RetagRun& run, const std::vector<Planned>& planned,
                      const std::vector<StagedWheel>& staged, std::vector<RetagOutcome>& outcomes) {
  const ExistingFilePolicy on_existing =
      run.force ? ExistingFilePolicy::kReplace : ExistingFilePolicy::kRefuse;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const Planned& one = planned[i];
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_CHECK(PlaceFile(env, staged[i].file, one.to, on_existing), FrameOf(one));
    outcomes.push_back({.from = one.from, .to = one.to});
  }
  return Ok();
}

Result<void> RemoveOld(Env& env, const std::vector<Planned>& planned) {
  for (const Planned& one : planned)
    PTPKG_CHECK(RemoveReplaced(env, one.from, one.to), fmt::format("while removing '{}'", one.from.str()));
  return Ok();
}

}  // namespace

Result<RetagSummary> Retag(Env& env, const RetagRun& run) {
  if (run.changes.ChangesNothing()) {
    return Error(ErrorCode::kUsage, "nothing to change")
        .WithHint("add --platform, --python, --abi, --build, --local or --requires");
  }
  PTPKG_CHECK(CheckPlatformTag(run.changes));
  PTPKG_TRY(const std::vector<Planned> planned, PlanAll(env, run));
  if (!run.dry_run && run.output) PTPKG_CHECK(env.fs.MakeDirs(*run.output));
  PTPKG_TRY(const std::vector<StagedWheel> staged, StageAll(env, run, planned));
  RetagSummary summary;
  if (run.dry_run) {
    for (const Planned& one : planned) summary.outcomes.push_back({.from = one.from, .to = one.to});
    return summary;
  }
  Result<void> placed = PlaceAll(env, run, planned, staged, summary.outcomes);
  if (placed && run.remove) placed = RemoveOld(env, planned);
  if (!placed) summary.failure = std::move(placed).error();
  return summary;
}

}  // namespace ptpkg::pipeline
