#pragma once
// Runs the jobs of a matrix on this machine, each in a process of its own. Layer: pipeline.

#include <set>

#include "matrix/run_folder.h"
#include "support/env.h"

namespace ptpkg::pipeline {

struct LocalOptions {
  AbsPath program = AbsPath::Literal("/nonexistent");  ///< This ptpkg.
  std::set<std::size_t> jobs;  ///< Numbers of the jobs to run; the others have passed.
};

/// Runs jobs as soon as those that they need have passed. Jobs share env.jobs cores and the free memory; one
/// that asks for more than the machine has runs alone. One GPU job runs at a time. Independent jobs go on
/// after a failure. The records say how the jobs ended. REQUIRES: the caller has the lease of LeaseRun.
/// Errors: kIo, kCancelled.
Result<void> RunLocal(Env& env, const matrix::Run& run, const LocalOptions& options);

}  // namespace ptpkg::pipeline
