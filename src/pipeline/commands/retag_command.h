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
  bool force = false;                  ///< Replace files with the new names, and remove their sidecar files.
  /// Remove each wheel and its sidecar files once the new one exists. A wheel that the new one has replaced,
  /// even by another path to it, is the new one, and stays.
  bool remove = false;
  /// Check whether the files satisfy the new tags, as `ptpkg check` does. Other changes declare nothing about
  /// files.
  bool check = true;
  /// Write only scratch below env.cache_dir, which is checked like the wheels of a real run.
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

/// Plans all wheels, writes them into scratch directories and checks them before the first gets its name.
/// Replaced wheels are removed last. Errors, with nothing written or removed: any from wheel::PlanRetag and
/// archive::WriteEditedZip, kUsage (nothing to change, invalid platform tag, two wheels with one new name),
/// kCheckFailed (files that contradict new tags), kAlreadyExists, kCancelled. Failures: kIo, kAlreadyExists,
/// kCancelled.
Result<RetagSummary> Retag(Env& env, const RetagRun& run);

}  // namespace ptpkg::pipeline
