#pragma once
// The directory of a run, which all of its machines share: docs/formats/matrix.md. Layer: matrix.
//
// - run.json                    version, digest of the plan, jobs and settings, sealed
// - plan.json                   output of 'ptpkg build --plan --json'
// - cancelled                   if it exists, no job starts and running ones stop
// - engine/                     leased while a process starts the jobs
// - jobs/ID/log                 output of all attempts of a job
// - jobs/ID/attempts/N/         one attempt (attempt.h)
//
// The ends of a job's attempts decide its state, not a scheduler and not a clock.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/plan.h"
#include "matrix/job_graph.h"
#include "matrix/job_record.h"
#include "support/env.h"
#include "support/files/lease.h"

namespace ptpkg::matrix {

/// Settings of a run, which stay the same while it lasts.
struct RunSettings {
  std::string key = {};      ///< Hex digits that name the run to schedulers.
  std::string version = {};  ///< Version of ptpkg, with its commit.
  std::string engine = {};   ///< "local", "slurm", …
  AbsPath cache = AbsPath::Literal("/nonexistent");
  AbsPath output = AbsPath::Literal("/nonexistent");
  std::uint64_t lease_seconds = 120;  ///< An attempt without progress for this time is replaced.
  bool offline = false;
  std::string remote_cache = {};  ///< URL of a bucket with results of other machines; "" = none.
  bool remote_cache_read_only = false;
  Json engine_settings = Json::object();  ///< {"partition": "build"}: read by the engine.
};

struct Run {
  AbsPath folder = AbsPath::Literal("/nonexistent");
  RunSettings settings = {};
  JobGraph graph = {};

  [[nodiscard]] AbsPath PlanFile() const { return folder / "plan.json"; }
  [[nodiscard]] AbsPath CancelFile() const { return folder / "cancelled"; }
  [[nodiscard]] AbsPath EngineFolder() const { return folder / "engine"; }
  [[nodiscard]] AbsPath JobFolder(const Job& job) const { return folder / "jobs" / job.id; }
  [[nodiscard]] AbsPath LogFile(const Job& job) const { return JobFolder(job) / "log"; }
  [[nodiscard]] AbsPath AttemptsFolder(const Job& job) const { return JobFolder(job) / "attempts"; }
};

/// Writes a new run: `run` with its settings and jobs, and its plan. The description comes last, so a killed
/// call leaves no run. Returns the lease of LeaseRun, under which the caller starts the jobs. Errors:
/// kAlreadyExists (a directory that is not empty), kUnsupported (a file system without locks), kIo; as
/// LeaseRun.
Result<Lease> CreateRun(Env& env, const Run& run, const graph::Plan& plan);

/// The right to start jobs of the run, which one process at a time has: two would start each job twice. Waits
/// for a second. Errors: kRefused when another process has it, kUnsupported, kIo, kCancelled.
Result<Lease> LeaseRun(Env& env, const Run& run);

/// True while a process has the lease of LeaseRun.
Result<bool> IsRunLeased(Env& env, const Run& run);

/// Reads the description. Errors: kNotFound with a hint, kInvalidInput for a description that was edited or
/// is from another version of ptpkg.
Result<Run> OpenRun(Env& env, const AbsPath& folder, const std::string& version);

/// Errors: kInvalidInput for a plan that is not the one of the run.
Result<graph::Plan> ReadPlan(Env& env, const Run& run);

/// Errors: kUnsupported with a hint when no lock can be taken in `folder`, or other machines would not see
/// it.
Result<void> RequireLocks(Env& env, const AbsPath& folder);

/// One attempt of a job, as its files tell.
struct AttemptState {
  std::uint64_t number = 0;
  std::string worker = {};            ///< "host h1, process 4711, Slurm job 12"; "" while it is not written.
  std::string beat = {};              ///< Content of the file that the worker renews.
  std::int64_t started_s = 0;         ///< Unix time by the worker's clock; 0: not written.
  std::optional<JobRecord> end = {};  ///< nullopt: it runs, or died.
};

/// All attempts, by number. A damaged file counts as missing. Errors: kIo.
Result<std::vector<AttemptState>> ReadAttempts(Env& env, const Run& run, const Job& job);
/// The last attempt that passed, whose results other jobs read; nullptr without one. A job's state comes from
/// its last attempt (status.h).
const AttemptState* PassedAttempt(const std::vector<AttemptState>& attempts);

}  // namespace ptpkg::matrix
