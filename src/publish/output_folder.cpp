#include "publish/output_folder.h"

#include <fmt/core.h>

#include "support/json.h"

namespace ptpkg::publish {

namespace {

constexpr std::string_view kPackFolderPrefix = ".ptpkg-pack";

}  // namespace

Result<OutputFolder> OutputFolder::Open(Env& env, const AbsPath& root, bool replace_foreign) {
  OutputFolder output(env, root, replace_foreign);
  for (const AbsPath& folder : {output.CondaRoot(), output.WheelRoot(), root / "logs"}) {
    PTPKG_CHECK(env.fs.MakeDirs(folder), fmt::format("while preparing the output folder '{}'", root.str()));
    PTPKG_CHECK(RemoveStaleTemps(env.fs, folder));
  }
  PTPKG_CHECK(RemoveStaleTemps(env.fs, root));
  PTPKG_CHECK(RemoveStaleTempDirs(env.fs, root, kPackFolderPrefix));
  PTPKG_CHECK(output.ReadManifest());
  return output;
}

AbsPath OutputFolder::LogFile(std::string_view subject, std::string_view step) const {
  return root_ / "logs" / fmt::format("{}.{}.log", subject, step);
}

Result<TempDir> OutputFolder::MakePackFolder() { return TempDir::Create(env_->fs, root_, kPackFolderPrefix); }

RelPath OutputFolder::PlaceOf(ArtifactFormat format, std::string_view subdir, std::string_view name) const {
  if (format == ArtifactFormat::kWheel) return RelPath::Literal("wheels") / name;
  return RelPath::Literal("conda") / subdir / name;
}

Result<void> OutputFolder::ReadManifest() {
  const AbsPath path = root_ / "manifest.json";
  PTPKG_TRY(const bool there, Exists(env_->fs, path));
  if (!there) return Ok();
  PTPKG_TRY(const std::string text, ReadFile(env_->fs, path));
  auto manifest = ParseJson(text, path.str());
  if (!manifest || !manifest->is_object() || !manifest->contains("artifacts")) {
    return Error(ErrorCode::kCorrupt, fmt::format("'{}' is damaged", path.str()))
        .WithHint(
            "remove it: artifacts that are already there then count as foreign (--force replaces them)");
  }
  for (const Json& item : (*manifest)["artifacts"]) {
    PTPKG_TRY(ArtifactRecord record, ArtifactRecordFromJson(item, path.str()));
    const std::string key = record.path;
    previous_.emplace(key, std::move(record));
  }
  return Ok();
}

Result<bool> OutputFolder::IsPresent(const ArtifactRecord& record) {
  PTPKG_TRY(const RelPath place, RelPath::Parse(record.path));
  const AbsPath path = root_ / place;
  PTPKG_TRY(const bool there, Exists(env_->fs, path));
  if (!there) return false;
  PTPKG_TRY(const FileStat stat, env_->fs.Lstat(path));
  if (stat.kind != FileKind::kRegular || stat.size_bytes != record.size_bytes) return false;
  PTPKG_TRY(const Digests digests, HashFile(env_->fs, path));
  return digests.sha256.Hex() == record.sha256;
}

Result<bool> OutputFolder::IsOurs(const RelPath& place) {
  const auto found = previous_.find(place.str());
  if (found == previous_.end()) return false;
  return IsPresent(found->second);
}

Result<void> OutputFolder::Publish(const Artifact& artifact, const RelPath& place) {
  const AbsPath target = root_ / place;
  PTPKG_CHECK(env_->fs.MakeDirs(target.Parent()));
  PTPKG_TRY(const bool there, Exists(env_->fs, target));
  if (there) {
    const ArtifactRecord same{.path = place.str(),
                              .sha256 = artifact.digests.sha256.Hex(),
                              .size_bytes = artifact.digests.size_bytes};
    PTPKG_TRY(const bool equal, IsPresent(same));
    if (equal) return env_->fs.Remove(artifact.path);
    PTPKG_TRY(const bool ours, IsOurs(place));
    if (!ours && !replace_foreign_) {
      return Error(ErrorCode::kAlreadyExists,
                   fmt::format("'{}' is already there with other content, and not as this output folder's "
                               "manifest.json recorded it",
                               target.str()))
          .WithHint("raise the build number, move the file away, or replace it with --force");
    }
  }
  PTPKG_CHECK(env_->fs.Rename(artifact.path, target));
  return env_->fs.SyncDir(target.Parent());
}

Result<void> OutputFolder::WriteManifest(const std::vector<ArtifactRecord>& artifacts,
                                         const std::vector<StageTime>& times) {
  std::map<std::string, Json> by_path;
  for (const auto& [path, record] : previous_) {
    PTPKG_TRY(const bool there, Exists(env_->fs, root_ / RelPath::Literal(path)));
    if (there) by_path.emplace(path, ArtifactRecordToJson(record));
  }
  for (const ArtifactRecord& record : artifacts)
    by_path.insert_or_assign(record.path, ArtifactRecordToJson(record));
  Json list = Json::array();
  for (auto& [path, json] : by_path) list.push_back(std::move(json));
  Json stages = Json::array();
  for (const StageTime& time : times) stages.push_back(StageTimeToJson(time));
  return WriteFile(env_->fs, root_ / "manifest.json",
                   DumpJson({{"manifest_version", 1}, {"artifacts", list}, {"stages", stages}}));
}

}  // namespace ptpkg::publish
