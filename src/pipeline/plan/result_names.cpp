// Some verbs give several results names at once. Renaming several files cannot be atomic, so AtomicPlacement
// keeps what it replaces until all renames succeeded, and undoes them in reverse order after an error. A
// killed process leaves a part, but each file is whole.
//
// For a replaced file the order matters. Its sidecar files go first: a signature must never seem to belong to
// the new file. The old file is then kept under a second name by a hard link, so its own name is never free,
// and the rename replaces it in one step. A new file uses RenameNoReplace, which leaves no moment between
// looking and renaming. The last rename is never undone, so it needs no link, which some file systems refuse.

#include "pipeline/plan/result_names.h"

#include <fmt/core.h>

#include "model/artifact.h"
#include "publish/output/sidecar.h"
#include "support/files/scratch.h"

namespace ptpkg::pipeline {
namespace {

/// Sidecars of the artifact. Files of other kinds have none.
Result<std::vector<AbsPath>> SidecarPaths(Env& env, const AbsPath& artifact) {
  std::vector<AbsPath> paths;
  const std::optional<ArtifactFormat> format = FormatOfFileName(artifact.Name());
  if (!format) return paths;
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(artifact.Parent()));
  const publish::ArtifactId id = {.file_name = std::string(artifact.Name()), .format = *format};
  for (const publish::ArtifactId& beside : publish::SidecarIds(id, names))
    paths.push_back(artifact.Parent() / beside.file_name);
  return paths;
}

}  // namespace

Result<void> ResultNames::Take(const AbsPath& to, std::string_view verb) {
  if (taken_.insert(to.str()).second) return Ok();
  return Error(ErrorCode::kUsage, fmt::format("two files would become '{}'", to.str()))
      .WithHint(fmt::format("{} them one at a time, into different directories", verb));
}

Error NameTakenError(const AbsPath& path, bool has_force) {
  return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' already exists", path.str()))
      .WithHint(has_force ? "choose another directory with --output DIR, or replace it with --force"
                          : "choose another directory with --output DIR");
}

Result<bool> IsOneFile(Env& env, const AbsPath& left, const AbsPath& right) {
  PTPKG_TRY(const FileStat one, env.fs.Stat(left));
  PTPKG_TRY(const FileStat other, env.fs.Stat(right));
  return one.inode == other.inode && one.device == other.device;
}

Result<void> RemoveSidecars(Env& env, const AbsPath& artifact) {
  PTPKG_TRY(const std::vector<AbsPath> paths, SidecarPaths(env, artifact));
  for (const AbsPath& path : paths) PTPKG_CHECK(env.fs.Remove(path));
  return Ok();
}

void RemoveAbandonedScratch(Env& env, const AbsPath& folder) {
  static_cast<void>(RemoveAbandoned(env, folder));
}

AtomicPlacement::~AtomicPlacement() {
  // One with content stays: Remove fails for it.
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder)
    static_cast<void>(env_.fs.Remove(*folder));
}

Result<void> AtomicPlacement::MakeDirs(const AbsPath& folder) {
  std::vector<AbsPath> missing;
  for (AbsPath at = folder;; at = at.Parent()) {
    PTPKG_TRY(const bool is_there, Exists(env_.fs, at));
    if (is_there) break;
    missing.push_back(at);
  }
  for (auto one = missing.rbegin(); one != missing.rend(); ++one) {
    const Result<void> made = env_.fs.MakeDir(*one);
    if (made) made_.push_back(*one);
    // Another process may have been faster; if it made a file, MakeDirs says so.
    if (!made && made.error().code() != ErrorCode::kAlreadyExists) return made.error();
  }
  return env_.fs.MakeDirs(folder);
}

void AtomicPlacement::Add(AbsPath staged, AbsPath to) {
  moves_.push_back({.staged = std::move(staged), .to = std::move(to)});
}

/// `kept`: a directory for the replaced files.
Result<void> AtomicPlacement::MoveIntoPlace(const Move& move, const AbsPath& kept) {
  PTPKG_CHECK(MakeDirs(move.to.Parent()));
  Result<void> placed = env_.fs.RenameNoReplace(move.staged, move.to);
  if (placed) {
    new_.push_back(move.to);
    return Ok();
  }
  // Only now is it known that the name is taken: looking first would leave a gap.
  if (placed.error().code() != ErrorCode::kAlreadyExists) return placed;
  if (on_existing_ == ExistingFilePolicy::kRefuse) return NameTakenError(move.to, true);
  return Replace(move, kept);
}

/// Sidecars of the old file go first, so that they never seem to belong to the new one.
Result<void> AtomicPlacement::Replace(const Move& move, const AbsPath& kept) {
  PTPKG_CHECK(env_.fs.MakeDirs(kept));
  PTPKG_TRY(const std::vector<AbsPath> beside, SidecarPaths(env_, move.to));
  for (const AbsPath& path : beside) {
    const AbsPath away = kept / path.Name();
    PTPKG_CHECK(env_.fs.Rename(path, away));
    done_.push_back({.staged = path, .to = away});
  }
  if (&move == &moves_.back()) return env_.fs.Rename(move.staged, move.to);
  const AbsPath old = kept / move.to.Name();
  PTPKG_CHECK(env_.fs.CreateHardLink(move.to, old));
  PTPKG_CHECK(env_.fs.Rename(move.staged, move.to));
  done_.push_back({.staged = move.to, .to = old});
  return Ok();
}

/// Changes that cannot be undone stay: each file is whole.
void AtomicPlacement::Undo() {
  for (const AbsPath& file : new_) static_cast<void>(env_.fs.Remove(file));
  for (auto move = done_.rbegin(); move != done_.rend(); ++move)
    static_cast<void>(env_.fs.Rename(move->to, move->staged));
}

Result<void> AtomicPlacement::Place(const AbsPath& scratch) {
  for (std::size_t i = 0; i < moves_.size(); ++i) {
    Result<void> placed = MoveIntoPlace(moves_[i], scratch / fmt::format("{}", i));
    if (placed) continue;
    Undo();
    return placed;
  }
  made_.clear();
  return Ok();
}

Result<void> PlaceFile(Env& env, const AbsPath& staged, const AbsPath& to, ExistingFilePolicy on_existing) {
  AtomicPlacement placement(env, on_existing);
  placement.Add(staged, to);
  PTPKG_CHECK(placement.Place(staged.Parent()));
  // Not an error: the file has its name by now, and callers report files that do.
  if (const Result<void> synced = env.fs.SyncDir(to.Parent()); !synced) {
    env.reporter.Warn(fmt::format("'{}' is written, but a loss of power may undo that: {}", to.str(),
                                  synced.error().message()));
  }
  return Ok();
}

}  // namespace ptpkg::pipeline
