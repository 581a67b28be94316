#include "pipeline/edited_wheel.h"

#include <fmt/core.h>

#include "publish/beside.h"

namespace ptpkg::pipeline {
Result<StagedWheel> StageEditedWheel(Env& env, const EditedWheel& wheel, const AbsPath& folder,
                                     const std::optional<Judgement>& judgement) {
  PTPKG_TRY(TempDir scratch, TempDir::Create(env.fs, folder, "edited"));
  StagedWheel staged{.scratch = std::move(scratch), .file = folder};
  staged.file = staged.scratch.path() / wheel.to.Name();
  PTPKG_CHECK(archive::WriteEditedZip(env, wheel.from, staged.file, OnExisting::kRefuse, wheel.edits));
  if (judgement) PTPKG_CHECK(JudgeArtifact(env, staged.file, *judgement));
  return staged;
}

Result<void> PlaceStaged(Env& env, const StagedWheel& staged, const AbsPath& to, OnExisting on_existing) {
  return on_existing == OnExisting::kReplace ? env.fs.Rename(staged.file, to)
                                             : env.fs.RenameNoReplace(staged.file, to);
}

Result<void> WriteEditedWheel(Env& env, const EditedWheel& wheel, OnExisting on_existing,
                              const std::optional<Judgement>& judgement) {
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
