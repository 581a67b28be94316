#include "pipeline/placement.h"

#include <fmt/core.h>

#include "model/artifact.h"
#include "publish/beside.h"

namespace ptpkg::pipeline {

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

Result<void> RemoveBeside(Env& env, const AbsPath& artifact) {
  const std::optional<ArtifactFormat> format = FormatOfFileName(artifact.Name());
  if (!format) return Ok();
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(artifact.Parent()));
  const publish::ArtifactId id = {.file_name = std::string(artifact.Name()), .format = *format};
  for (const publish::ArtifactId& beside : publish::IdsBeside(id, names))
    PTPKG_CHECK(env.fs.Remove(artifact.Parent() / beside.file_name));
  return Ok();
}

Placement::~Placement() {
  // One with content stays: that is what Remove fails of.
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder)
    static_cast<void>(env_.fs.Remove(*folder));
}

Result<void> Placement::MakeDirs(const AbsPath& folder) {
  std::vector<AbsPath> missing;
  for (AbsPath at = folder;; at = at.Parent()) {
    PTPKG_TRY(const bool is_there, Exists(env_.fs, at));
    if (is_there) break;
    missing.push_back(at);
  }
  made_.insert(made_.end(), missing.rbegin(), missing.rend());
  return env_.fs.MakeDirs(folder);
}

void Placement::Add(AbsPath staged, AbsPath to) {
  moves_.push_back({.staged = std::move(staged), .to = std::move(to)});
}

Result<void> Placement::PlaceOne(Move& move) {
  PTPKG_CHECK(MakeDirs(move.to.Parent()));
  PTPKG_TRY(move.replaces, Exists(env_.fs, move.to));
  return RenameAs(env_.fs, move.staged, move.to, on_existing_);
}

Result<void> Placement::Place() {
  for (std::size_t i = 0; i < moves_.size(); ++i) {
    Result<void> placed = PlaceOne(moves_[i]);
    if (placed) continue;
    for (std::size_t k = 0; k < i; ++k) {
      // What cannot be removed is whole, and the error that is returned says that the set is not.
      if (!moves_[k].replaces) static_cast<void>(env_.fs.Remove(moves_[k].to));
    }
    return placed;
  }
  for (const Move& move : moves_) {
    if (move.replaces) PTPKG_CHECK(RemoveBeside(env_, move.to));
  }
  return Ok();
}

}  // namespace ptpkg::pipeline
