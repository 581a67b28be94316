#include "pipeline/fix.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <set>
#include <tuple>

#include "pipeline/edited_wheel.h"
#include "repair/fix.h"

namespace ptpkg::pipeline {
namespace {

/// What mending could do wrong.
constexpr std::array<std::string_view, 10> kFindingsOfFix = {
    "elf-damaged",           "elf-unreachable-needed",
    "elf-unresolved-needed", "elf-version-requirement",
    "wheel-record-digest",   "wheel-record-invalid",
    "wheel-record-missing",  "wheel-record-unlisted",
    "wheel-tag-mismatch",    "wheel-zip"};

Result<CheckOutcome> CheckOne(Env& env, const CheckRequest& request, const AbsPath& wheel) {
  CheckRequest one = request;
  one.paths = {wheel};
  PTPKG_TRY(std::vector<CheckOutcome> outcomes, Check(env, one));
  return std::move(outcomes.front());
}

auto Key(const Finding& finding) { return std::tie(finding.id, finding.file, finding.message); }

Result<FixOutcome> FixOne(Env& env, const CheckRequest& request, const AbsPath& wheel,
                          const std::optional<AbsPath>& output) {
  PTPKG_TRY(CheckOutcome before, CheckOne(env, request, wheel));
  Result<repair::WheelFix> fix = repair::PlanFix(env, wheel);
  if (!fix) {
    const ErrorCode code = fix.error().code();
    if (code != ErrorCode::kInvalidInput && code != ErrorCode::kCorrupt) return std::move(fix).error();
    env.reporter.Warn(fmt::format("'{}' is not mended: {}", wheel.str(), fix.error().message()));
    return FixOutcome{.checked = std::move(before)};
  }
  const AbsPath to = output.value_or(wheel.Parent()) / fix->name.str();
  if (!fix->ChangesAnything() && to.Name() == wheel.Name()) return FixOutcome{.checked = std::move(before)};

  PTPKG_TRY(const bool taken, Exists(env.fs, to));
  if (taken && to != wheel) {
    return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' already exists", to.str()))
        .WithHint("name another folder with --output");
  }
  WheelJudgement judgement{.refused = {}, .hint = "leave --fix out, and mend it by hand"};
  for (const std::string_view id : kFindingsOfFix) {
    const std::vector<Finding>& had = before.report.findings;
    if (std::none_of(had.begin(), had.end(), [&](const Finding& finding) { return finding.id == id; }))
      judgement.refused.push_back(id);
  }
  judgement.options.allow_unresolved = request.allow_unresolved;
  judgement.options.dependencies = request.dependencies;
  const OnExisting on_existing = to == wheel ? OnExisting::kReplace : OnExisting::kRefuse;
  PTPKG_CHECK(WriteEditedWheel(env, {.from = wheel, .to = to, .edits = fix->edits}, on_existing, judgement));
  PTPKG_TRY(CheckOutcome after, CheckOne(env, request, to));
  FixOutcome outcome{.checked = std::move(after), .fixed = {}, .written = to};
  std::set<std::tuple<std::string, std::string, std::string>> left;
  for (const Finding& finding : outcome.checked.report.findings) left.insert(Key(finding));
  for (Finding& finding : before.report.findings) {
    if (!left.contains(Key(finding))) outcome.fixed.push_back(std::move(finding));
  }
  return outcome;
}

}  // namespace

Result<std::vector<FixOutcome>> Fix(Env& env, const CheckRequest& request,
                                    const std::optional<AbsPath>& output) {
  for (const AbsPath& path : request.paths) {
    PTPKG_TRY(const FileStat stat, env.fs.Stat(path));
    if (stat.kind == FileKind::kRegular && path.Name().ends_with(".whl")) continue;
    return Error(ErrorCode::kUsage, fmt::format("--fix is for wheels, and '{}' is none", path.str()))
        .WithHint("make packages and folders anew; 'ptpkg relink' changes search paths in a folder");
  }
  if (output) PTPKG_CHECK(env.fs.MakeDirs(*output));
  std::vector<FixOutcome> outcomes;
  for (const AbsPath& path : request.paths) {
    PTPKG_TRY(FixOutcome outcome, FixOne(env, request, path, output),
              fmt::format("while mending '{}'", path.str()));
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace ptpkg::pipeline
