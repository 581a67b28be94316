#pragma once
// `ptpkg retag`: wheels under other tags, builds, local versions, requirements. Layer: pipeline.

#include <optional>
#include <string>
#include <vector>

#include "support/env.h"
#include "wheel/retag.h"

namespace ptpkg::pipeline {

struct RetagRun {
  std::vector<AbsPath> wheels = {};
  wheel::RetagRequest changes = {};
  std::optional<AbsPath> output = {};  ///< Existing folder, or one to be made; nullopt: each wheel's own.
  bool force = false;  ///< Replace files of the new names, and remove what vouched for them beside them.
  /// Remove each wheel, and what vouches for it beside it, once the new one is there. A wheel that the new
  /// one has replaced, by whatever path, is the new one, and stays.
  bool remove = false;
  /// Check whether the files keep what new tags promise, as `ptpkg check` does; other changes promise nothing
  /// of files.
  bool check = true;
  bool dry_run = false;  ///< Read, and say what would be written.
};

struct RetagOutcome {
  AbsPath from;
  AbsPath to;
};

/// One outcome for each wheel, in order. All are read and planned before the first is written. A wheel that
/// does not deserve its new tags does not appear, and ends the run; those before it stay. Errors: kUsage
/// (nothing to change, two wheels of one new name), kCheckFailed, kAlreadyExists, those of wheel::PlanRetag
/// and archive::WriteEditedZip.
Result<std::vector<RetagOutcome>> Retag(Env& env, const RetagRun& run);

}  // namespace ptpkg::pipeline
