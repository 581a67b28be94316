#pragma once
// Persistent work directory of `ptpkg dev`: <cache>/dev/<16 hex digits>/. Layer: pipeline.
//
// - .lease: held by the run that works in it
// - state.json: its content and its phase (builder/resume/work_state.h)
// - dev.json: the inputs that it was made from
// - sources: state of the sources before any script ran
// - synchronised: local sources at the last copy (builder/resume/source_sync.h)
// - host_files: files of the host prefix before the script ran
// - entered: files that `ptpkg shell` found when it entered (builder/resume/resume.h)
// - build.log, test.log
// - d/: the directories of the build (builder/resume/work_layout.h)

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "builder/resume/work_state.h"
#include "builder/run_build.h"
#include "recipe/recipe.h"
#include "support/files/lease.h"

namespace ptpkg::pipeline {

/// Inputs that the directory was made from.
struct DevState {
  std::map<std::string, std::string> inputs = {};  ///< Name → digest; another one: it is made anew.
  /// Name → digest of the build script and of files it may read; another one: it runs again, whole.
  std::map<std::string, std::string> scripts = {};
  std::string origins =
      {};  ///< The directories that were synchronised; others may hold files of equal times.
  std::string source_stamp = {};  ///< Stamp of the sources that are not synchronised (dev_sources.h).
  std::string source_key = {};
  std::string tools = {};                    ///< The node's input of that name.
  std::string tool_stamp = {};               ///< builder::ToolFingerprint when that was so;
  std::vector<std::string> tool_files = {};  ///< of these. Empty: tools are always asked.
  bool ran_whole = false;  ///< The build script has ended well, and nothing asks for it again.
  /// The script that ran last ended by itself, though not well: no power cut ended it.
  bool script_ended = false;
  builder::ScriptContext place = {};
};

class DevFolder {
 public:
  /// By the recipe's directory, the name and the variant: a new version or other requirements find the same
  /// one.
  static AbsPath PlaceOf(const Env& env, const recipe::Recipe& recipe);

  /// Waits, with a note, while another process holds it. Errors: kIo, kCancelled; kUsage in a `ptpkg shell`
  /// or a script that runs in it, because that holds it until this process ends.
  static Result<DevFolder> Take(Env& env, const recipe::Recipe& recipe);

  [[nodiscard]] const AbsPath& root() const { return root_; }
  [[nodiscard]] AbsPath path() const { return root_ / "d"; }
  /// State that the last run left; nullopt: none that can be resumed.
  [[nodiscard]] const std::optional<DevState>& left() const { return left_; }
  [[nodiscard]] builder::WorkPhase phase() const { return phase_; }
  /// The machine has been started since the last run ended, or it was on another one, or nobody can tell.
  [[nodiscard]] bool is_other_boot() const { return other_boot_; }
  /// Unix time at which it was made.
  [[nodiscard]] std::int64_t prepared_ns() const { return state_.prepared_ns; }
  /// Defect of the state that was found; "": none.
  [[nodiscard]] const std::string& damage() const { return damage_; }

  /// kPrepared: no script runs, and none was cut off. kScript: one runs, or was cut off, or failed, which may
  /// be because a command of it was killed. kInstalled: one ended well.
  /// Errors: kIo.
  Result<void> SetPhase(builder::WorkPhase phase);
  Result<void> Save(const DevState& state);
  Result<void> SaveHostFiles(const std::vector<RelPath>& files);
  Result<std::vector<RelPath>> ReadHostFiles();
  /// Empties it; it is then as if there had been no run. Errors: kIo.
  Result<void> StartOver();

  /// Lets go of everything but the lease.
  Lease TakeLease() && { return std::move(lease_); }

 private:
  DevFolder(Env& env, const recipe::Recipe& recipe, Lease lease);
  Result<void> ReadEarlierState();

  Env* env_;
  Lease lease_;
  AbsPath root_;
  builder::WorkState state_;
  std::optional<DevState> left_;
  builder::WorkPhase phase_ = builder::WorkPhase::kStarted;
  bool other_boot_ = false;
  std::string damage_;
};

}  // namespace ptpkg::pipeline
