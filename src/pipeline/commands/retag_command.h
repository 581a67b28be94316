#pragma once
// Runs `ptpkg retag`. Layer: pipeline.

#include <optional>
#include <string>
#include <vector>

#include "support/env.h"
#include "wheel/retag_wheel.h"

namespace ptpkg::pipeline {

struct RetagRun {
  std::vector<AbsPath> wheels = {};
  wheel::RetagRequest changes = {};
  std::optional<AbsPath> output = {};  ///< Existing directory, or one to be made; nullopt: each wheel's own.
  bool force = false;  ///< Replace files of the new names, and remove what vouched for them beside them.
  /// Remove each wheel, and what vouches for it beside it, once the new one is there. A wheel that the new
  /// one has replaced, by whatever path, is the new one, and stays.
  bool remove = false;
  /// Check whether the files keep what new tags promise, as `ptpkg check` does; other changes promise nothing
  /// of files.
  bool check = true;
  /// Write nothing but scratch below env.cache_dir, which is judged as the run's wheels are.
  bool dry_run = false;
};

struct RetagOutcome {
  AbsPath from;
  AbsPath to;
};

struct RetagSummary {
  std::vector<RetagOutcome> outcomes = {};  ///< The wheels that have their names, in order.
  std::optional<Error> failure = {};        ///< Error that ended the run after the first of them.
};

/// All wheels are planned, written into scratch directories and judged before the first gets its name; those
/// that they replace are removed last. Errors, with nothing written or removed: kUsage (nothing to change, no
/// platform tag, two wheels of one new name), kCheckFailed (files that contradict new tags), kAlreadyExists,
/// kCancelled, those of wheel::PlanRetag and archive::WriteEditedZip. Failures: kIo, kAlreadyExists,
/// kCancelled.
Result<RetagSummary> Retag(Env& env, const RetagRun& run);

}  // namespace ptpkg::pipeline
