#include "pipeline/retag.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <set>
#include <string_view>

#include "archive/zip_edit.h"
#include "publish/beside.h"
#include "support/scratch.h"
#include "verify/check.h"

namespace ptpkg::pipeline {
namespace {

/// Findings about what tags promise. Others were there before, and stay.
constexpr std::array<std::string_view, 6> kOfTags = {"elf-glibc-floor",      "elf-libc-mismatch",
                                                     "elf-machine-mismatch", "elf-isa-level",
                                                     "wheel-tag-mismatch",   "wheel-pure-with-binaries"};

struct Planned {
  AbsPath from;
  AbsPath to;
  bool replaces = false;  // another file of the new name
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
    planned.push_back({.from = wheel, .to = to, .replaces = taken, .edits = std::move(one.edits)});
  }
  return planned;
}

Result<void> CheckTags(Env& env, const AbsPath& wheel) {
  Task task(env.reporter, {.stage = "check", .subject = std::string(wheel.Name())});
  PTPKG_TRY(const Report report, verify::CheckArtifact(env, wheel));
  std::vector<std::string> reasons;
  for (const Finding& finding : report.findings) {
    if (std::find(kOfTags.begin(), kOfTags.end(), finding.id) == kOfTags.end()) continue;
    if (finding.severity == Severity::kError)
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
               fmt::format("'{}' would not keep what its tags promise:{}", wheel.Name(), lines))
      .WithHint("choose tags that the files deserve; --no-check writes the wheel all the same");
}

/// Under its name in a scratch folder beside its place: the check reads the tags in the name.
Result<void> WriteChecked(Env& env, const Planned& one, OnExisting on_existing) {
  PTPKG_TRY(const TempDir scratch, TempDir::Create(env.fs, one.to.Parent(), "retag"));
  const AbsPath fresh = scratch.path() / one.to.Name();
  PTPKG_CHECK(archive::WriteEditedZip(env, one.from, fresh, OnExisting::kRefuse, one.edits));
  PTPKG_CHECK(CheckTags(env, fresh));
  return on_existing == OnExisting::kReplace ? env.fs.Rename(fresh, one.to)
                                             : env.fs.RenameNoReplace(fresh, one.to);
}

/// What vouches for bytes that go, or are gone: nobody can verify anything by it.
Result<void> RemoveBeside(Env& env, const AbsPath& wheel) {
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(wheel.Parent()));
  const publish::ArtifactId id = {.file_name = std::string(wheel.Name()), .format = ArtifactFormat::kWheel};
  for (const std::string& name : publish::NamesBeside(id, names))
    PTPKG_CHECK(env.fs.Remove(wheel.Parent() / name));
  return Ok();
}

/// Whether both paths lead to one file, through links too.
Result<bool> IsOneFile(Env& env, const AbsPath& left, const AbsPath& right) {
  PTPKG_TRY(const FileStat one, env.fs.Stat(left));
  PTPKG_TRY(const FileStat other, env.fs.Stat(right));
  return one.inode == other.inode && one.device == other.device;
}

Result<void> WriteAndTidy(Env& env, const RetagRun& run, const Planned& one) {
  const OnExisting on_existing = run.force ? OnExisting::kReplace : OnExisting::kRefuse;
  if (run.check && run.changes.ChangesTags()) {
    PTPKG_CHECK(WriteChecked(env, one, on_existing));
  } else {
    PTPKG_CHECK(archive::WriteEditedZip(env, one.from, one.to, on_existing, one.edits));
  }
  if (one.replaces) PTPKG_CHECK(RemoveBeside(env, one.to));
  if (!run.remove) return Ok();
  PTPKG_TRY(const bool replaced, IsOneFile(env, one.from, one.to));
  if (replaced) return Ok();
  // The wheel last: what is left of a removal that fails can be removed again.
  PTPKG_CHECK(RemoveBeside(env, one.from));
  return env.fs.Remove(one.from);
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
