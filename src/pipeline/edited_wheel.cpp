#include "pipeline/edited_wheel.h"

#include <algorithm>
#include <fmt/core.h>

#include "publish/beside.h"
#include "support/scratch.h"

namespace ptpkg::pipeline {
namespace {

Result<void> JudgeWheel(Env& env, const AbsPath& wheel, const WheelJudgement& judgement) {
  Task task(env.reporter, {.stage = "check", .subject = std::string(wheel.Name())});
  PTPKG_TRY(const Report report, verify::CheckArtifact(env, wheel, judgement.options));
  std::vector<std::string> reasons;
  for (const Finding& finding : report.findings) {
    const auto& ids = judgement.refused;
    if (std::find(ids.begin(), ids.end(), finding.id) == ids.end()) continue;
    if (finding.severity == Severity::kError && !judgement.had.contains(KeyOf(finding)))
      reasons.push_back(fmt::format("\n    {} [{}] {}", finding.file, finding.id, finding.message));
  }
  if (reasons.empty()) {
    task.Done();
    return Ok();
  }
  constexpr std::size_t kShown = 10;
  std::string lines;
  for (std::size_t i = 0; i < std::min(kShown, reasons.size()); ++i) lines += reasons[i];
  if (reasons.size() > kShown) lines += fmt::format("\n    and {} more", reasons.size() - kShown);
  return Error(ErrorCode::kCheckFailed,
               fmt::format("'{}' would not keep what it promises:{}", wheel.Name(), lines))
      .WithHint(judgement.hint +
                (judgement.can_be_skipped ? "; --no-check writes the wheel all the same" : ""));
}

/// Under its name in a scratch folder beside its place: the check reads the tags in the name.
Result<void> WriteJudged(Env& env, const EditedWheel& wheel, OnExisting on_existing,
                         const WheelJudgement& judgement) {
  PTPKG_TRY(const TempDir scratch, TempDir::Create(env.fs, wheel.to.Parent(), "edited"));
  const AbsPath fresh = scratch.path() / wheel.to.Name();
  PTPKG_CHECK(archive::WriteEditedZip(env, wheel.from, fresh, OnExisting::kRefuse, wheel.edits));
  PTPKG_CHECK(JudgeWheel(env, fresh, judgement));
  return on_existing == OnExisting::kReplace ? env.fs.Rename(fresh, wheel.to)
                                             : env.fs.RenameNoReplace(fresh, wheel.to);
}

}  // namespace

FindingKey KeyOf(const Finding& finding) { return {finding.id, finding.file, finding.message}; }

Result<void> WriteEditedWheel(Env& env, const EditedWheel& wheel, OnExisting on_existing,
                              const std::optional<WheelJudgement>& judgement) {
  PTPKG_TRY(const bool replaces, Exists(env.fs, wheel.to));
  if (judgement) {
    PTPKG_CHECK(WriteJudged(env, wheel, on_existing, *judgement));
  } else {
    PTPKG_CHECK(archive::WriteEditedZip(env, wheel.from, wheel.to, on_existing, wheel.edits));
  }
  return replaces ? RemoveBeside(env, wheel.to) : Ok();
}

Result<bool> IsOneFile(Env& env, const AbsPath& left, const AbsPath& right) {
  PTPKG_TRY(const FileStat one, env.fs.Stat(left));
  PTPKG_TRY(const FileStat other, env.fs.Stat(right));
  return one.inode == other.inode && one.device == other.device;
}

Result<void> RemoveBeside(Env& env, const AbsPath& wheel) {
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(wheel.Parent()));
  const publish::ArtifactId id = {.file_name = std::string(wheel.Name()), .format = ArtifactFormat::kWheel};
  for (const publish::ArtifactId& beside : publish::IdsBeside(id, names))
    PTPKG_CHECK(env.fs.Remove(wheel.Parent() / beside.file_name));
  return Ok();
}

Result<void> RemoveReplaced(Env& env, const AbsPath& from, const AbsPath& to) {
  PTPKG_TRY(const bool replaced, IsOneFile(env, from, to));
  if (replaced) return Ok();
  // The wheel last: what is left of a removal that fails can be removed again.
  PTPKG_CHECK(RemoveBeside(env, from));
  return env.fs.Remove(from);
}

}  // namespace ptpkg::pipeline
