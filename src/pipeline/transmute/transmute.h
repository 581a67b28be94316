#pragma once
// Runs `ptpkg transmute`. Layer: pipeline.

#include <optional>
#include <vector>

#include "support/env.h"

namespace ptpkg::pipeline {

struct TransmuteRun {
  std::vector<AbsPath> packages = {};
  std::optional<AbsPath> output = {};  ///< Existing directory, or one to be made; nullopt: each one's own.
  bool force = false;                  ///< Replace files with the new names, and remove their sidecar files.
};

struct TransmuteOutcome {
  AbsPath from;
  AbsPath to;
};

struct TransmuteSummary {
  std::vector<TransmuteOutcome> outcomes = {};  ///< The packages that were written, in order.
  std::optional<Error> failure = {};            ///< Error of the package after them, which ended the run.
};

/// Converts each .conda to a .tar.bz2 and each .tar.bz2 to a .conda (conda/transmute.h). All names are
/// compared before the first package is read. Each package is checked as by `ptpkg check`, converted in a
/// scratch directory, compared with its source, and then gets its name. Errors, with nothing written:
/// kInvalidInput (a name of another form, or too long), kUsage (two packages with one result),
/// kAlreadyExists. Failures: kInvalidInput naming the findings, any from conda::TransmutePackage, kRefused
/// (the package changed meanwhile).
Result<TransmuteSummary> Transmute(Env& env, const TransmuteRun& run);

}  // namespace ptpkg::pipeline
