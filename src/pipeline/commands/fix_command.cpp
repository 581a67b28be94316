// `check --fix` must never make a wheel worse. So it checks the wheel, the fixed scratch file, and the
// result. The fixed wheel may have no error that a repair can cause unless the wheel had it already. Names
// that the fix itself changes are taken out of the comparison (OldAndNewNames).
//
// A fix in place replaces the file, or renames it if the tags change. A symlink must survive that: the file
// behind it is replaced, and a rename that would leave the link dangling is refused.
//
// An unfixable wheel is a warning, and the next one follows. Any other error ends the run, with the results
// so far.

#include "pipeline/commands/fix_command.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <set>

#include "pipeline/edit_wheel/edited_wheel.h"
#include "pipeline/plan/result_names.h"
#include "repair/fix_wheel.h"

namespace ptpkg::pipeline {
namespace {

/// Findings that the repair itself could cause.
constexpr std::array<std::string_view, 11> kFindingsOfFix = {"elf-damaged",
                                                             "elf-unreachable-needed",
                                                             "elf-unresolved-needed",
                                                             "elf-version-requirement",
                                                             "wheel-record-digest",
                                                             "wheel-record-invalid",
                                                             "wheel-record-missing",
                                                             "wheel-record-row",
                                                             "wheel-record-unlisted",
                                                             "wheel-tag-mismatch",
                                                             "wheel-zip"};

/// Errors of a plan that leave the wheel unchanged; the next one follows.
constexpr std::array<ErrorCode, 3> kNotMended = {ErrorCode::kInvalidInput, ErrorCode::kCorrupt,
                                                 ErrorCode::kUnsupported};

Result<CheckOutcome> CheckOne(Env& env, const CheckRequest& request, const AbsPath& wheel) {
  CheckRequest one = request;
  one.paths = {wheel};
  PTPKG_TRY(CheckSummary summary, Check(env, one));
  if (summary.failure) return *std::move(summary.failure);
  return std::move(summary.outcomes.front());
}

/// Findings refused in the mended wheel: errors that are not among `had`.
RegressionCheck RegressionCheckAgainst(BaselineFindings had) {
  return {.refused = {kFindingsOfFix.begin(), kFindingsOfFix.end()},
          .hint = "check without --fix, and fix it by hand",
          .had = std::move(had),
          .can_be_skipped = false};
}

/// The file to replace: the target of a link, so that the link stays one.
Result<AbsPath> FileToReplace(Env& env, const AbsPath& wheel) {
  PTPKG_TRY(const FileStat stat, env.fs.Lstat(wheel));
  if (stat.kind != FileKind::kSymlink) return wheel;
  PTPKG_TRY(AbsPath file, env.fs.RealPath(wheel.str()));
  if (file.Name().ends_with(".whl")) return file;
  return Error(ErrorCode::kUsage, fmt::format("'{}' is a link to '{}', which is not named like a wheel",
                                              wheel.str(), file.str()))
      .WithHint("choose a directory for the fixed wheel: --output DIR");
}

/// Path of the mended wheel. Errors: kAlreadyExists, kRefused.
Result<AbsPath> PlaceFor(Env& env, const AbsPath& given, const AbsPath& wheel, const AbsPath& to) {
  if (to == wheel) return to;
  if (given != wheel && to.Parent() == wheel.Parent()) {
    return Error(ErrorCode::kRefused,
                 fmt::format(
                     "'{}' is a link to '{}', which would be renamed to '{}' and leave the link dangling",
                     given.str(), wheel.str(), to.Name()))
        .WithHint("give the file itself, or --output DIR");
  }
  PTPKG_TRY(const bool taken, Exists(env.fs, to));
  if (!taken) return to;
  return NameTakenError(to, false);
}

Result<FixOutcome> FixOne(Env& env, const CheckRequest& request, const AbsPath& given,
                          const std::optional<AbsPath>& output) {
  const bool in_place = !output || *output == given.Parent();
  PTPKG_TRY(const AbsPath wheel, in_place ? FileToReplace(env, given) : Result<AbsPath>(given));
  RemoveAbandonedScratch(env, output.value_or(wheel.Parent()));
  PTPKG_TRY(CheckOutcome before, CheckOne(env, request, wheel));
  Result<repair::WheelFix> fix = repair::PlanFix(env, wheel);
  if (!fix) {
    const ErrorCode code = fix.error().code();
    if (std::find(kNotMended.begin(), kNotMended.end(), code) == kNotMended.end())
      return std::move(fix).error();
    env.reporter.Warn(fmt::format("cannot fix '{}': {}", wheel.str(), fix.error().message()));
    return FixOutcome{.checked = std::move(before)};
  }
  const AbsPath wanted = (in_place ? wheel.Parent() : *output) / fix->name.str();
  // The name can be wrong although no file changes: then the wheel is renamed.
  if (!fix->ChangesAnything() && wanted.Name() == wheel.Name())
    return FixOutcome{.checked = std::move(before)};

  PTPKG_TRY(const AbsPath to, PlaceFor(env, given, wheel, wanted));
  const std::set<std::string> names = OldAndNewNames(wheel.Name(), fix->name, fix->edits);
  RegressionCheck judgement = RegressionCheckAgainst(BaselineFindings(before.report.findings, names));
  // The same options as the first check, or the findings would not be comparable.
  judgement.options.allow_unresolved = request.allow_unresolved;
  judgement.options.dependencies = request.dependencies;
  const ExistingFilePolicy on_existing =
      to == wheel ? ExistingFilePolicy::kReplace : ExistingFilePolicy::kRefuse;
  PTPKG_CHECK(WriteEditedWheel(env, {.from = wheel, .to = to, .edits = fix->edits}, on_existing, judgement));
  if (in_place) PTPKG_CHECK(RemoveReplaced(env, wheel, to));
  PTPKG_TRY(CheckOutcome after, CheckOne(env, request, to));
  FixOutcome outcome{.checked = std::move(after), .fixed = {}, .written = to};
  const BaselineFindings left(outcome.checked.report.findings, names);
  for (Finding& finding : before.report.findings) {
    if (!left.Has(finding)) outcome.fixed.push_back(std::move(finding));
  }
  return outcome;
}

}  // namespace

Result<FixSummary> Fix(Env& env, const CheckRequest& request, const std::optional<AbsPath>& output) {
  for (const AbsPath& path : request.paths) {
    PTPKG_TRY(const FileStat stat, env.fs.Stat(path));
    if (stat.kind == FileKind::kRegular && path.Name().ends_with(".whl")) continue;
    return Error(ErrorCode::kUsage, fmt::format("--fix works on wheels, and '{}' is not a wheel", path.str()))
        .WithHint("rebuild packages and directories; change search paths in a directory with 'ptpkg relink'");
  }
  if (output) PTPKG_CHECK(env.fs.MakeDirs(*output));
  FixSummary summary;
  for (const AbsPath& path : request.paths) {
    const Result<void> cancelled = env.cancel.Check();
    Result<FixOutcome> outcome =
        cancelled ? FixOne(env, request, path, output) : Result<FixOutcome>(cancelled.error());
    if (!outcome) {
      summary.failure = std::move(outcome).error().WithContext(fmt::format("while fixing '{}'", path.str()));
      break;
    }
    summary.outcomes.push_back(*std::move(outcome));
  }
  std::vector<CheckOutcome*> checked;
  for (FixOutcome& outcome : summary.outcomes) checked.push_back(&outcome.checked);
  Result<void> matrix = AddCrossWheelFindings(env, request, checked);
  if (!matrix && !summary.failure) summary.failure = std::move(matrix).error();
  return summary;
}

}  // namespace ptpkg::pipeline
