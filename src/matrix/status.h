#pragma once
// The state of a run and of its jobs, as people see it. Layer: matrix.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "matrix/run_folder.h"

namespace ptpkg::matrix {

enum class JobState : std::uint8_t {
  kWaiting,  ///< For jobs that it needs, or for a machine.
  kRunning,
  kPassed,      ///< The last attempt did; the index has read all results that there are.
  kFailed,      ///< For its own reason.
  kStopped,     ///< From outside; 'ptpkg matrix resume' runs it again.
  kLost,        ///< Its worker died, and no scheduler has the job.
  kNotStarted,  ///< Nothing will start it: a job that it needs failed, or the run has ended.
};

std::string_view JobStateName(JobState state);

/// Knowledge of an engine about a job, beside the job's records.
struct EngineJob {
  bool queued = false;      ///< The engine will still run it, or does.
  std::string id = {};      ///< "12_3"
  std::string state = {};   ///< In the engine's words.
  std::string reason = {};  ///< Why it waits, in the engine's words.
  std::string ended = {};   ///< Why the engine ended it, and what to change; "": it did not.
};

struct JobStatus {
  std::string id;
  JobState state = JobState::kWaiting;
  std::uint64_t attempts = 0;
  std::string worker = {};      ///< Worker of the last attempt.
  std::int64_t started_s = 0;   ///< Start of the last attempt, by its worker's clock; 0: never.
  double seconds = 0;           ///< Time of the last attempt that ended.
  double expected_seconds = 0;  ///< By earlier runs; 0: unknown.
  bool cached = false;          ///< Passed, and nothing had to run.
  std::string error = {};       ///< Why the engine ended it, and the failure of the last attempt.
  EngineJob engine = {};
};

struct RunStatus {
  std::vector<JobStatus> jobs;  ///< In the order of the run.
  bool cancelled = false;
  std::int64_t read_s = 0;  ///< When these states were read, in Unix time.
  /// Until the last job ends, on as many machines as the run uses: the longest chain of jobs that are not
  /// done. nullopt while the time of one of them is unknown.
  std::optional<double> seconds_left = {};

  [[nodiscard]] std::size_t Count(JobState state) const;
  /// No job runs or can run any more.
  [[nodiscard]] bool IsOver() const;
  [[nodiscard]] bool HasPassed() const { return Count(JobState::kPassed) == jobs.size(); }
};

/// `engine`: the engine's answer by job. A job that it does not list has left it. nullopt: `alive` tells
/// whether the process that starts the jobs still runs. Errors: kIo.
Result<RunStatus> ReadStatus(Env& env, const Run& run,
                             const std::optional<std::map<std::string, EngineJob>>& engine, bool alive);

/// Adds why the engine ended the job to its error. Does nothing for a job that has passed.
void AddEngineEnd(const std::string& ended, JobStatus& job);

Json StatusToJson(const Run& run, const RunStatus& status);

/// Numbers of the jobs that have to run so that all pass: jobs whose last attempt has not passed, and the
/// index. The index alone runs again if it passed without results that jobs before it have made since. A job
/// that missed an input takes all jobs before it along, which make the input again if it is gone.
std::set<std::size_t> JobsToRun(const Run& run, const std::vector<std::vector<AttemptState>>& attempts);

/// Attempts of all jobs. Errors: kIo.
Result<std::vector<std::vector<AttemptState>>> ReadAllAttempts(Env& env, const Run& run);

}  // namespace ptpkg::matrix
