#include "pipeline/edited_wheel.h"

#include <algorithm>
#include <fmt/core.h>

#include "publish/beside.h"
#include "verify/deserved_platform.h"
#include "wheel/file_name.h"

namespace ptpkg::pipeline {
namespace {

std::string HintOf(const WheelJudgement& judgement) {
  return judgement.hint + (judgement.can_be_skipped ? "; --no-check writes the wheel all the same" : "");
}

/// What ptpkg wheel --platform asks of files, too.
Result<void> CheckPlatform(const AbsPath& wheel, const verify::Examination& examined,
                           const WheelJudgement& judgement) {
  PTPKG_TRY(const wheel::FileName name, wheel::FileName::Parse(wheel.Name()));
  auto deserved = verify::CheckDeserved(examined.files, name.tag.platform, examined.code);
  if (deserved || deserved.error().code() != ErrorCode::kCheckFailed) return deserved;
  return Error(ErrorCode::kCheckFailed, deserved.error().message()).WithHint(HintOf(judgement));
}

}  // namespace

FindingKey KeyOf(const Finding& finding) { return {finding.id, finding.file, finding.message}; }

Result<void> JudgeWheel(Env& env, const AbsPath& wheel, const WheelJudgement& judgement) {
  Task task(env.reporter, {.stage = "check", .subject = std::string(wheel.Name())});
  PTPKG_TRY(const verify::Examination examined, verify::ExamineArtifact(env, wheel, judgement.options));
  std::vector<std::string> reasons;
  for (const Finding& finding : examined.report.findings) {
    const auto& ids = judgement.refused;
    if (std::find(ids.begin(), ids.end(), finding.id) == ids.end()) continue;
    if (finding.severity == Severity::kError && !judgement.had.contains(KeyOf(finding)))
      reasons.push_back(fmt::format("\n    {} [{}] {}", finding.file, finding.id, finding.message));
  }
  if (reasons.empty()) {
    if (judgement.platform) PTPKG_CHECK(CheckPlatform(wheel, examined, judgement));
    task.Done();
    return Ok();
  }
  constexpr std::size_t kShown = 10;
  std::string lines;
  for (std::size_t i = 0; i < std::min(kShown, reasons.size()); ++i) lines += reasons[i];
  if (reasons.size() > kShown) lines += fmt::format("\n    and {} more", reasons.size() - kShown);
  return Error(ErrorCode::kCheckFailed,
               fmt::format("'{}' would not keep what it promises:{}", wheel.Name(), lines))
      .WithHint(HintOf(judgement));
}

Result<StagedWheel> StageEditedWheel(Env& env, const EditedWheel& wheel, const AbsPath& folder,
                                     const std::optional<WheelJudgement>& judgement) {
  PTPKG_TRY(TempDir scratch, TempDir::Create(env.fs, folder, "edited"));
  StagedWheel staged{.scratch = std::move(scratch), .file = folder};
  staged.file = staged.scratch.path() / wheel.to.Name();
  PTPKG_CHECK(archive::WriteEditedZip(env, wheel.from, staged.file, OnExisting::kRefuse, wheel.edits));
  if (judgement) PTPKG_CHECK(JudgeWheel(env, staged.file, *judgement));
  return staged;
}

Result<void> PlaceStaged(Env& env, const StagedWheel& staged, const AbsPath& to, OnExisting on_existing) {
  return on_existing == OnExisting::kReplace ? env.fs.Rename(staged.file, to)
                                             : env.fs.RenameNoReplace(staged.file, to);
}

Result<void> WriteEditedWheel(Env& env, const EditedWheel& wheel, OnExisting on_existing,
                              const std::optional<WheelJudgement>& judgement) {
  PTPKG_TRY(const bool replaces, Exists(env.fs, wheel.to));
  if (judgement) {
    PTPKG_TRY(const StagedWheel staged, StageEditedWheel(env, wheel, wheel.to.Parent(), judgement));
    PTPKG_CHECK(PlaceStaged(env, staged, wheel.to, on_existing));
  } else {
    PTPKG_CHECK(archive::WriteEditedZip(env, wheel.from, wheel.to, on_existing, wheel.edits));
  }
  return replaces ? RemoveBeside(env, wheel.to) : Ok();
}

Result<void> NewNames::Take(const AbsPath& to, std::string_view verb) {
  if (taken_.insert(to.str()).second) return Ok();
  return Error(ErrorCode::kUsage, fmt::format("two of the wheels would become '{}'", to.str()))
      .WithHint(fmt::format("{} them one at a time, into different folders", verb));
}

Error IsInTheWay(const AbsPath& path, bool has_force) {
  return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' already exists", path.str()))
      .WithHint(has_force ? "name another folder with --output, or replace it with --force"
                          : "name another folder with --output");
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
