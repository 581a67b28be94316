#pragma once
// Work directories of builds, kept for resuming. Layer: pipeline. docs/decisions/0012-resuming-a-build.md.
// Content of a directory: builder/resume/work_state.h.

#include <chrono>
#include <memory>
#include <optional>

#include "builder/resume/work_state.h"
#include "graph/stage.h"
#include "support/files/lease.h"
#include "support/files/scratch.h"

namespace ptpkg::pipeline {

/// Time after which an interrupted build is removed if no run has resumed it.
inline constexpr std::chrono::hours kForgottenAfter{24 * 14};

/// Longest path of a build's root (builder/resume/work_layout.h) below the cache directory: "work", 16 digits
/// or the name of a scratch directory, "d", the root's own name.
inline constexpr std::size_t kMostRootBytesBelowCache = 37;

class BuildFolder final : public graph::Claim {
 public:
  /// Takes the work directory of a build node, work/<16 digits> below the cache. Equal inputs give the same
  /// directory. Inputs that matter only after the script (build.files, entry points, licence files) do not
  /// count: a change there recompiles nothing. Waits, with a note, while another process holds it. With the
  /// node's option "fresh", files of an earlier run are removed first. A nonempty value means that the next
  /// run will not resume there either.
  ///
  /// With the option "ccache", the directory depends only on the recipe's name and variant (the lasting
  /// directory). The directory for the inputs is still used if an interrupted run left files there. It is
  /// also used, with a note, while a build with other inputs holds the lasting directory, and if an
  /// interrupted build of another recipe or subject left files there. The directory for the inputs is held in
  /// any case, so that no two runs make the same, with or without "ccache".
  ///
  /// Directories of the same subject and recipe that have become useless (other inputs, held by nobody) are
  /// removed, with a note. On a file system without locks, ptpkg cannot tell whether another process works
  /// there, and uses a scratch directory. Errors: kIo, kCancelled.
  static Result<std::unique_ptr<graph::Claim>> Take(Env& env, const graph::Node& node,
                                                    const graph::NodeKey& key);

  BuildFolder(const BuildFolder&) = delete;
  BuildFolder& operator=(const BuildFolder&) = delete;
  ~BuildFolder() override;

  /// Work directory of the build; exists. The same path in each run.
  [[nodiscard]] const AbsPath& path() const { return path_; }
  [[nodiscard]] AbsPath record() const { return root_ / "sources"; }
  /// State that an earlier run left; kStarted: none that can be used.
  [[nodiscard]] const builder::WorkState& left() const { return left_; }

  /// Records on disk how far this run is. Errors: kIo.
  Result<void> SetPhase(builder::WorkPhase phase);
  /// Empties path().
  Result<void> StartOver();
  /// Call it when the build failed: reports the directory if a later run can resume there.
  void Failed();

  /// Removes the directory; with the option "keep-work" it is moved to <cache>/kept instead (work_folder.h).
  void OnStored() override;

 private:
  BuildFolder(Env& env, const graph::Node& node, builder::WorkState state, const AbsPath& root);
  Result<void> Open(bool fresh);
  Result<void> ReadEarlierState();
  Result<void> RemoveSuperseded();
  Result<void> Finish();
  [[nodiscard]] bool IsEmpty() const;

  Env& env_;
  std::string subject_;
  bool keep_;
  bool never_resumed_;        // the recipe says so
  builder::WorkState state_;  // of this run
  builder::WorkState left_;
  AbsPath root_;
  AbsPath path_;
  std::optional<Lease> lease_;
  std::optional<Lease> same_inputs_;  // of the directory of the inputs, where root_ is the lasting one
  std::optional<TempDir> scratch_;    // in its place, where there are no locks
};

/// <cache>/work, the parent of these directories.
AbsPath WorkRoot(const Env& env);

/// True if a build node's input of this name is read only after its script.
bool IsReadAfterScript(std::string_view input);

/// The lease of the directory of a build, made where it is missing; waits, with a note, while another process
/// holds it. Not locked where the file system has no locks. Errors: kUsage (in a shell that was entered in
/// that directory, and waits for this process), kIo, kCancelled.
Result<Lease> WaitForLease(Env& env, const AbsPath& folder, const std::string& subject);

/// Removes from <cache>/work the directories that nobody holds and no run will resume. These are directories
/// without a readable state, directories whose result exists (`has_result`, by key: the run was killed just
/// before its end), and forgotten ones (kForgottenAfter). Errors: kIo, any from `has_result`.
Result<void> PruneWorkDirs(Env& env, const std::function<Result<bool>(const std::string& key)>& has_result);

}  // namespace ptpkg::pipeline
