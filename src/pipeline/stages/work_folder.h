#pragma once
// Scratch directories of running nodes. Layer: pipeline.

#include "graph/stage.h"
#include "support/files/atomic_file.h"

namespace ptpkg::pipeline {

/// A new directory in <cache>/work. It goes with this object, unless the node has the option "keep-work".
class WorkFolder {
 public:
  static Result<WorkFolder> Create(Env& env, const graph::NodeRun& run);

  [[nodiscard]] const AbsPath& path() const { return folder_.path(); }
  /// Makes a new directory in it. Errors: kAlreadyExists.
  Result<AbsPath> MakeFolder(std::string_view name);
  /// Call it when the node has ended, well or not: with "keep-work" the directory becomes
  /// <cache>/kept/<subject>-<first 12 digits of the key>, in place of one of an earlier run; a note says so.
  Result<void> Finish() &&;

 private:
  WorkFolder(Env& env, const graph::NodeRun& run, TempDir folder)
      : env_(&env), run_(&run), folder_(std::move(folder)) {}

  Env* env_;
  const graph::NodeRun* run_;
  TempDir folder_;
};

/// Moves `folder` to <cache>/kept/<subject>-<first 12 digits of the key>, in place of one of an earlier run;
/// where `ptpkg shell` is in that one, "-2" and so on is added. A note says the name. Files that have another
/// name elsewhere get bytes of their own first.
Result<void> KeepFolder(Env& env, const AbsPath& folder, const std::string& subject, const std::string& key);

}  // namespace ptpkg::pipeline
