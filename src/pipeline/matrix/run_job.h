#pragma once
// Runs one job of a matrix run: `ptpkg run-node RUN ID`. Layer: pipeline.

#include <string>

#include "matrix/job_record.h"
#include "pipeline/plan/summary.h"
#include "support/env.h"

namespace ptpkg::pipeline {

/// The variable in which the engine `local` tells a process its number, as Slurm does with SLURM_JOB_ID.
inline constexpr const char* kLocalJobVariable = "PTPKG_LOCAL_JOB";
/// The end of the worker's name in the attempts of such a process.
std::string LocalJobMark(const std::string& number);

struct JobRequest {
  AbsPath run = AbsPath::Literal("/nonexistent");  ///< Its directory.
  std::string job;                                 ///< Its id, or the id of one of its nodes.
  std::string version;                             ///< Version of this ptpkg.
};

struct JobOutcome {
  matrix::JobRecord record;
  BuildSummary summary;
  std::uint64_t attempt = 0;
};

/// Runs the job as a new attempt, and records how it ended. Waits while an earlier attempt makes progress.
/// Before anything runs, compares the results of other jobs that it reads with their records. Errors: the
/// first failure of its nodes, kCancelled, kInvalidInput (the run or its plan), and these:
/// - kCommandFailed for a job that takes longer than its `minutes`
/// - kNotFound for an unknown job, and for an input that is missing or whose job has not passed
/// - kHashMismatch for an input with another digest
/// - kRefused when another attempt took over
Result<JobOutcome> RunJob(Env& env, const JobRequest& request);

/// True if `path` is the directory of a run.
Result<bool> IsRunFolder(Env& env, const AbsPath& path);

}  // namespace ptpkg::pipeline
