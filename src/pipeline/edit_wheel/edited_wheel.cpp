#include "pipeline/edit_wheel/edited_wheel.h"

#include "pipeline/plan/result_names.h"

namespace ptpkg::pipeline {

Result<StagedWheel> StageEditedWheel(Env& env, const EditedWheel& wheel, const AbsPath& folder,
                                     const std::optional<RegressionCheck>& judgement) {
  PTPKG_TRY(TempDir scratch, TempDir::Create(env.fs, folder, "edited"));
  StagedWheel staged{.scratch = std::move(scratch), .file = folder};
  staged.file = staged.scratch.path() / wheel.to.Name();
  PTPKG_CHECK(
      archive::WriteEditedZip(env, wheel.from, staged.file, ExistingFilePolicy::kRefuse, wheel.edits));
  if (judgement) PTPKG_CHECK(CheckForRegressions(env, staged.file, *judgement));
  return staged;
}

Result<void> WriteEditedWheel(Env& env, const EditedWheel& wheel, ExistingFilePolicy on_existing,
                              const std::optional<RegressionCheck>& judgement) {
  PTPKG_TRY(const StagedWheel staged, StageEditedWheel(env, wheel, wheel.to.Parent(), judgement));
  return PlaceFile(env, staged.file, wheel.to, on_existing);
}

Result<void> RemoveReplaced(Env& env, const AbsPath& from, const AbsPath& to) {
  PTPKG_TRY(const bool replaced, IsOneFile(env, from, to));
  if (replaced) return Ok();
  // The wheel last: the rest of a failed removal can be removed again.
  PTPKG_CHECK(RemoveSidecars(env, from));
  return env.fs.Remove(from);
}

}  // namespace ptpkg::pipeline
