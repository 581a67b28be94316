#pragma once
// Hands the jobs of a matrix to Slurm, by its clients. Layer: pipeline.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "matrix/slurm.h"
#include "support/env.h"

namespace ptpkg::pipeline {

/// Compares what `jobs` ask for with the cluster, by one call. Returns its nodes. Errors: as
/// matrix::CheckCluster, kNotFound, kCommandFailed, and kUsage for a directory whose name sbatch would not
/// take literally.
Result<std::vector<matrix::SinfoRow>> CheckSlurm(Env& env, const matrix::Run& run,
                                                 const std::set<std::size_t>& jobs);

/// Submits all batches of `jobs` at once, each with its dependencies. `nodes`: from CheckSlurm, for time
/// limits. A submission that timed out is looked for by its comment before it is repeated. Returns the files
/// for Slurm. Errors: kNotFound (a client),
/// kCommandFailed, kIo, kCancelled.
Result<std::vector<AbsPath>> SubmitSlurm(Env& env, const matrix::Run& run, const std::set<std::size_t>& jobs,
                                         const std::vector<matrix::SinfoRow>& nodes,
                                         const std::string& program);

/// Slurm's knowledge of the jobs of the run, by one call. Errors: kNotFound, kCommandFailed, kIo.
Result<std::map<std::string, matrix::EngineJob>> AskSlurm(Env& env, const matrix::Run& run);

/// Why Slurm ended jobs that its controller has forgotten, after five minutes by default: by one call of
/// sacct, or none if there are no such jobs. Changes nothing on a cluster without accounting.
void AskAccounting(Env& env, const matrix::Run& run, matrix::RunStatus& status);

/// Withdraws all jobs of the run, by one call. Errors: as AskSlurm.
Result<void> CancelSlurm(Env& env, const matrix::Run& run);

}  // namespace ptpkg::pipeline
