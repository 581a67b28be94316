#include "pipeline/retag.h"

#include <fmt/core.h>
#include <set>

#include "pipeline/edited_wheel.h"

namespace ptpkg::pipeline {
namespace {

struct Planned {
  AbsPath from;
  AbsPath to;
  archive::ZipEdits edits;
};

Result<std::vector<Planned>> PlanAll(Env& env, const RetagRun& run) {
  std::vector<Planned> planned;
  std::set<std::string> targets;
  for (const AbsPath& wheel : run.wheels) {
    PTPKG_TRY(wheel::Retagging one, wheel::PlanRetag(env, wheel, run.changes));
    const AbsPath to = run.output.value_or(wheel.Parent()) / one.name.str();
    if (!targets.insert(to.str()).second) {
      return Error(ErrorCode::kUsage, fmt::format("two of the wheels would become '{}'", to.str()))
          .WithHint("retag them one at a time, into different folders");
    }
    PTPKG_TRY(const bool taken, Exists(env.fs, to));
    if (taken && !run.force) {
      return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' already exists", to.str()))
          .WithHint("name another folder with --output, or replace it with --force");
    }
    planned.push_back({.from = wheel, .to = to, .edits = std::move(one.edits)});
  }
  return planned;
}

Result<void> WriteAndTidy(Env& env, const RetagRun& run, const Planned& one) {
  const OnExisting on_existing = run.force ? OnExisting::kReplace : OnExisting::kRefuse;
  std::optional<WheelJudgement> judgement;
  if (run.check && run.changes.ChangesTags())
    judgement = {.refused = {kFindingsOfTags.begin(), kFindingsOfTags.end()},
                 .hint = "choose tags that the files deserve"};
  PTPKG_CHECK(
      WriteEditedWheel(env, {.from = one.from, .to = one.to, .edits = one.edits}, on_existing, judgement));
  return run.remove ? RemoveReplaced(env, one.from, one.to) : Ok();
}

}  // namespace

Result<std::vector<RetagOutcome>> Retag(Env& env, const RetagRun& run) {
  if (run.changes.ChangesNothing()) {
    return Error(ErrorCode::kUsage, "nothing is to be changed")
        .WithHint("give --platform, --python, --abi, --build, --local or --requires");
  }
  PTPKG_TRY(const std::vector<Planned> planned, PlanAll(env, run));
  if (!run.dry_run && run.output) PTPKG_CHECK(env.fs.MakeDirs(*run.output));
  std::vector<RetagOutcome> outcomes;
  for (const Planned& one : planned) {
    PTPKG_CHECK(env.cancel.Check());
    if (!run.dry_run)
      PTPKG_CHECK(WriteAndTidy(env, run, one), fmt::format("while retagging '{}'", one.from.str()));
    outcomes.push_back({.from = one.from, .to = one.to});
  }
  return outcomes;
}

}  // namespace ptpkg::pipeline
