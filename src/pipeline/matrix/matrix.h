#pragma once
// Runs `ptpkg matrix`: builds recipes on engines that a site has. Layer: pipeline.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "matrix/status.h"
#include "pipeline/plan/build_plan.h"
#include "support/env.h"

namespace ptpkg::pipeline {

/// Names of --on, in the order of the help.
std::vector<std::string> MatrixEngines();

struct MatrixRequest {
  BuildRequest build = {};
  std::string engine = "local";
  std::optional<AbsPath> run = {};  ///< Directory of the run; nullopt: MatrixOutcome::run names a new one.
  std::string version = {};         ///< Version of ptpkg, with its commit.
  std::string program = {};         ///< Path of ptpkg on the machines that run the jobs.
  std::uint64_t lease_seconds = 120;
  std::string partition = {};                    ///< Slurm; "": its default.
  std::vector<std::string> engine_options = {};  ///< Slurm: further options of sbatch.
  std::string image = {};   ///< Kubernetes, and hosted CI: image of the jobs, with its digest.
  std::string volume = {};  ///< Kubernetes: "CLAIM:PATH", the volume that holds run, cache and output.
  std::vector<std::string> labels = {};  ///< Hosted CI: lists of the runners' labels, separated by commas.
  /// NAME and VALUE of each --source, from which build.sources was made.
  std::vector<std::pair<std::string, std::string>> sources = {};
  bool dry_run = false;  ///< Plan and check, but start and write nothing.
};

struct MatrixOutcome {
  matrix::Run run = {};
  matrix::RunStatus status = {};
  std::vector<AbsPath> files = {};        ///< Files for the engine.
  std::vector<std::string> skipped = {};  ///< Variants whose recipe says `skip`.
};

/// Plans the recipes, groups the nodes into jobs, writes the directory of the run, and hands the jobs to the
/// engine. `local` ends when the jobs do, slurm when all are submitted. The others only write files. Errors:
/// any from PlanBuild, kNotFound (a client of the engine), kCommandFailed, kIo, kAlreadyExists, and these:
/// - kUsage for an option of another engine, and as HostedFiles
/// - kRefused while another process starts or runs jobs of this directory
/// - kUnsupported for a directory that machines cannot share, or a job that no machine of the cluster can run
Result<MatrixOutcome> StartMatrix(Env& env, const MatrixRequest& request);

/// A run that exists.
struct RunRequest {
  AbsPath run = AbsPath::Literal("/nonexistent");
  std::string version = {};
  std::string program = {};
  bool has_jobs = false;  ///< The user gave env.jobs, which only the engine "local" reads.
};

/// One call to the scheduler, however many jobs there are. Errors: as matrix::OpenRun; kCommandFailed and
/// kNotFound for the scheduler.
Result<MatrixOutcome> MatrixStatus(Env& env, const RunRequest& request);

/// Marks the run as cancelled, which ends running jobs within a sixth of their lease, and withdraws the jobs
/// from the scheduler. Errors: as MatrixStatus, and kUnsupported for GitHub and GitLab, whose jobs don't see
/// the directory.
Result<MatrixOutcome> CancelMatrix(Env& env, const RunRequest& request);

/// Runs again what has not passed (matrix::JobsToRun), also after a cancellation. For "json" and "kubernetes"
/// it only lifts a cancellation, with a note that says how to start the jobs. Errors: as StartMatrix, and
/// these:
/// - kRefused while jobs of the run are still running
/// - kUsage for a run of another engine, unless there is a cancellation to lift
Result<MatrixOutcome> ResumeMatrix(Env& env, const RunRequest& request);

/// Output of all attempts of a job. Errors: kNotFound.
Result<std::string> MatrixLog(Env& env, const RunRequest& request, const std::string& job);

}  // namespace ptpkg::pipeline
