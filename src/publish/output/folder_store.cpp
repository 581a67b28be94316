// Changes artifacts of an output directory: yank, unyank, remove.
//
// Removal edits the indexes first, so that no client finds a link to a removed file, then removes the files
// through OutputFolder, which keeps the manifest in step. Finish indexes once more, because a build or
// another publication may have listed the files again in between. Sidecar files go with their artifact.
//
// Whether backend directories exist is noted before the last wheel leaves its index, since an empty
// directory would no longer show it.

#include "publish/output/folder_store.h"

#include <fmt/core.h>
#include <set>

#include "index/index.h"
#include "publish/output/output_folder.h"
#include "publish/output/sidecar.h"
#include "publish/output/yank.h"
#include "support/text/json.h"

namespace ptpkg::publish {
namespace {

RelPath PlaceInFolder(const ArtifactId& artifact) {
  const bool is_wheel = artifact.format == ArtifactFormat::kWheel;
  return OutputFolder::PlaceOf(artifact.format, artifact.subdir,
                               is_wheel ? artifact.ChannelPath() : artifact.file_name);
}

class FolderStore final : public Store {
 public:
  FolderStore(Env& env, AbsPath root) : env_(env), root_(std::move(root)) {}

  [[nodiscard]] std::string Title() const override { return fmt::format("directory '{}'", root_.str()); }
  [[nodiscard]] bool AcceptsFormat(ArtifactFormat format) const override {
    return format != ArtifactFormat::kZip;
  }
  [[nodiscard]] Result<void> Check(const Change& change) const override {
    return CheckIndexChange(change, Title());
  }

  [[nodiscard]] std::vector<std::string> Requests(const Change& change) const override {
    const std::string place = (root_ / PlaceInFolder(change.artifact)).str();
    if (change.action == Action::kRemove) return {"index without " + place, "remove " + place};
    return {fmt::format("write {} in its index",
                        change.action == Action::kYank ? "'yanked' of " + place : "no 'yanked' of " + place)};
  }

  [[nodiscard]] bool HasIndex() const override { return true; }

  Result<void> LogIn() override {
    PTPKG_TRY(const bool there, Exists(env_.fs, root_));
    if (there) return Ok();
    return Error(ErrorCode::kNotFound, fmt::format("the directory '{}' does not exist", root_.str()));
  }

  Result<RemoteStatus> QueryStatus(const Change& change) override {
    const AbsPath path = root_ / PlaceInFolder(change.artifact);
    PTPKG_TRY(const bool there, Exists(env_.fs, path));
    if (!there) return RemoteStatus{.state = ChangeState::kAbsent};
    PTPKG_TRY(const Digests digests, HashFile(env_.fs, path));
    RemoteStatus standing{.state = ChangeState::kToDo, .sha256 = digests.sha256.Hex()};
    if (change.action == Action::kRemove) return standing;
    const std::string& backend = change.artifact.backend;
    const AbsPath page = WheelRoot() / RelPath::Literal(backend.empty() ? "simple" : backend) /
                         RelPath::Literal(change.artifact.package) / "index.json";
    PTPKG_TRY(const bool has_page, Exists(env_.fs, page));
    if (!has_page) return standing;
    PTPKG_TRY(const std::string text, ReadFile(env_.fs, page));
    // One that cannot be understood is about to be made anew.
    const auto json = ParseJson(text, page.str());
    if (json && json->is_object() && index::IsYanked(*json, YankOf(change)) &&
        index::IsListed(*json, YankOf(change)))
      standing.state = ChangeState::kDone;
    return standing;
  }

  Result<void> Edit(const std::vector<Change>& changes) override {
    PTPKG_TRY(OutputFolder output, OutputFolder::Open(env_, root_));
    PTPKG_CHECK(output.Prepare());
    PTPKG_TRY(const std::vector<std::string> names, env_.fs.ListDir(WheelRoot()));
    PTPKG_TRY(has_roots_, index::HasBackendDirectories(env_, WheelRoot(), names, /*asked=*/false));
    if (!changes.empty() && changes.front().action != Action::kRemove) {
      PTPKG_CHECK(Index({}));
      std::vector<index::Yank> yanks;
      for (const Change& change : changes) yanks.push_back(YankOf(change));
      return index::YankWheels(env_, WheelRoot(), yanks);
    }
    std::set<std::string> gone;
    for (const Change& change : changes) gone.insert(change.artifact.ChannelPath());
    PTPKG_CHECK(Index(gone));
    // Absent files have no Make, but may be in the manifest all the same.
    for (const Change& change : changes) {
      PTPKG_TRY(const bool there, Exists(env_.fs, root_ / PlaceInFolder(change.artifact)));
      if (!there) PTPKG_CHECK(Make(change, {}));
    }
    return Ok();
  }

  Result<void> Make(const Change& change, const RemoteStatus& /*standing*/) override {
    if (change.action != Action::kRemove) return Ok();
    PTPKG_TRY(OutputFolder output, OutputFolder::Open(env_, root_));
    PTPKG_TRY(const std::vector<RelPath> beside, SidecarPlaces(change.artifact));
    PTPKG_CHECK(output.Remove(PlaceInFolder(change.artifact), change.sha256, beside));
    if (!change.artifact.backend.empty()) RemoveIfEmpty(change.artifact.backend);
    return Ok();
  }

  /// Removes entries that a build or another publication has listed again; metadata files of removed wheels.
  Result<void> Finish() override { return Index({}); }

 private:
  [[nodiscard]] AbsPath WheelRoot() const { return root_ / "wheels"; }

  /// The directory of a backend whose wheel has gone. One that stays empty, because others change it at the
  /// same time, harms nobody.
  void RemoveIfEmpty(const std::string& backend) {
    const AbsPath folder = WheelRoot() / RelPath::Literal(backend);
    const auto names = env_.fs.ListDir(folder);
    if (names && names->empty()) static_cast<void>(env_.fs.Remove(folder));
  }

  Result<std::vector<RelPath>> SidecarPlaces(const ArtifactId& artifact) {
    const AbsPath folder = (root_ / PlaceInFolder(artifact)).Parent();
    std::vector<RelPath> places;
    PTPKG_TRY(const bool there, Exists(env_.fs, folder));
    if (!there) return places;
    PTPKG_TRY(const std::vector<std::string> names, env_.fs.ListDir(folder));
    for (const ArtifactId& beside : SidecarIds(artifact, names)) places.push_back(PlaceInFolder(beside));
    return places;
  }

  /// Without `gone`, by ArtifactId::ChannelPath.
  Result<void> Index(const std::set<std::string>& gone) {
    PTPKG_TRY(const index::IndexSummary conda,
              index::IndexConda(env_, OutputFolder::CondaRootOf(root_), {.without = gone}));
    PTPKG_TRY(const index::IndexSummary wheels,
              index::IndexWheels(env_, WheelRoot(), {.without = gone, .roots = has_roots_}));
    static_cast<void>(conda);
    static_cast<void>(wheels);
    return Ok();
  }

  Env& env_;
  AbsPath root_;
  bool has_roots_ = false;  // before the last wheel of a backend left its index: it may stay after all
};

}  // namespace

std::unique_ptr<Store> MakeFolderStore(Env& env, const AbsPath& root) {
  return std::make_unique<FolderStore>(env, root);
}

}  // namespace ptpkg::publish
