#pragma once
// The output folder: a conda channel, a wheel index, logs and the manifest. Layer: publish.
//
//   <root>/conda/<subdir>/…   <root>/wheels/…   <root>/logs/…   <root>/manifest.json
//
// Artifacts are packed into a hidden folder beside their place, checked there, and renamed to their name.

#include <map>
#include <string>
#include <vector>

#include "model/artifact.h"
#include "model/artifact_record.h"
#include "model/stage_time.h"
#include "support/atomic_file.h"
#include "support/env.h"

namespace ptpkg::publish {

class OutputFolder {
 public:
  /// Creates what is missing, removes what killed runs left behind, and reads the last manifest.
  /// Errors: kIo with a hint (permission, full disk), kCorrupt (manifest.json).
  static Result<OutputFolder> Open(Env& env, const AbsPath& root, bool replace_foreign);

  [[nodiscard]] const AbsPath& root() const { return root_; }
  [[nodiscard]] AbsPath CondaRoot() const { return root_ / "conda"; }
  [[nodiscard]] AbsPath WheelRoot() const { return root_ / "wheels"; }
  [[nodiscard]] AbsPath LogFile(std::string_view subject, std::string_view step) const;

  /// A scratch folder on the same file system as the artifacts' final places.
  Result<TempDir> MakePackFolder();

  /// Where an artifact of this name belongs: "conda/linux-64/x.conda", "wheels/x.whl".
  [[nodiscard]] RelPath PlaceOf(ArtifactFormat format, std::string_view subdir, std::string_view name) const;

  /// True if the file at `place` is the one that `record` tells of (by size and time, else by digest).
  Result<bool> IsPresent(const ArtifactRecord& record);

  /// Moves a checked artifact to `place`. A file of the same bytes is left alone. A file with other bytes is
  /// replaced only if the last manifest says that ptpkg made it and it has not changed since, or with
  /// `replace_foreign`. Errors: kAlreadyExists with a hint, kIo.
  Result<void> Publish(const Artifact& artifact, const RelPath& place);

  /// Writes manifest.json: the given artifacts and times, and earlier artifacts that are still there.
  Result<void> WriteManifest(const std::vector<ArtifactRecord>& artifacts,
                             const std::vector<StageTime>& times);

 private:
  OutputFolder(Env& env, AbsPath root, bool replace_foreign)
      : env_(&env), root_(std::move(root)), replace_foreign_(replace_foreign) {}
  Result<void> ReadManifest();
  Result<bool> IsOurs(const RelPath& place);

  Env* env_;
  AbsPath root_;
  bool replace_foreign_ = false;
  std::map<std::string, ArtifactRecord> previous_;  // by path
};

}  // namespace ptpkg::publish
