#include "matrix/status.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

namespace ptpkg::matrix {

namespace {

constexpr std::array<std::string_view, 7> kStates = {"waiting", "running", "passed",     "failed",
                                                     "stopped", "lost",    "not started"};

JobState StateOf(const std::vector<AttemptState>& attempts, const EngineJob& engine, bool alive) {
  if (attempts.empty()) return JobState::kWaiting;
  const std::optional<JobRecord>& end = attempts.back().end;
  if (!end && engine.state == "PENDING")
    return JobState::kWaiting;  // it lost its machine, and goes back into the queue
  if (!end) return alive ? JobState::kRunning : JobState::kLost;
  if (end->end == JobEnd::kPassed) return JobState::kPassed;
  if (engine.queued) return JobState::kWaiting;  // the scheduler will run it again
  if (end->end == JobEnd::kFenced) return alive ? JobState::kWaiting : JobState::kLost;
  return end->end == JobEnd::kFailed ? JobState::kFailed : JobState::kStopped;
}

JobStatus StatusOf(const Job& job, const std::vector<AttemptState>& attempts, const EngineJob& engine,
                   bool alive) {
  JobStatus status{.id = job.id,
                   .state = StateOf(attempts, engine, alive),
                   .attempts = attempts.size(),
                   .expected_seconds = job.expected_seconds,
                   .engine = engine};
  if (!attempts.empty()) {
    const AttemptState& last = attempts.back();
    status.worker = last.worker;
    status.started_s = last.started_s;
    if (last.end) {
      status.seconds = last.end->seconds;
      status.cached = last.end->IsCached();
      status.error = last.end->error;
    }
  }
  AddEngineEnd(engine.ended, status);
  return status;
}

bool IsOpen(JobState state) { return state == JobState::kWaiting || state == JobState::kRunning; }

/// A waiting job whose predecessor will not pass never starts.
void MarkNotStarted(const Run& run, bool will_run, RunStatus& status) {
  for (std::size_t i = 0; i < status.jobs.size(); ++i) {
    JobStatus& job = status.jobs[i];
    if (job.state != JobState::kWaiting || job.engine.queued) continue;
    const Job& known = run.graph.jobs[i];
    const bool blocked = std::any_of(known.needs.begin(), known.needs.end(), [&](std::size_t need) {
      const JobState state = status.jobs[need].state;
      return state != JobState::kPassed && !IsOpen(state);
    });
    if (!will_run || (blocked && !known.after_failures)) job.state = JobState::kNotStarted;
  }
}

std::optional<double> SecondsLeft(const Run& run, const RunStatus& status) {
  std::vector<double> until(status.jobs.size());
  double longest = 0;
  for (std::size_t i = 0; i < status.jobs.size(); ++i) {
    const JobStatus& job = status.jobs[i];
    if (!IsOpen(job.state)) continue;
    if (job.expected_seconds <= 0) return std::nullopt;
    for (const std::size_t need : run.graph.jobs[i].needs) until[i] = std::max(until[i], until[need]);
    double own = job.expected_seconds;
    if (job.state == JobState::kRunning && job.started_s > 0)
      own =
          std::max(0.0, own - static_cast<double>(std::max<std::int64_t>(0, status.read_s - job.started_s)));
    until[i] += own;
    longest = std::max(longest, until[i]);
  }
  return longest;
}

}  // namespace

std::string_view JobStateName(JobState state) { return kStates.at(static_cast<std::size_t>(state)); }

std::size_t RunStatus::Count(JobState state) const {
  return static_cast<std::size_t>(
      std::count_if(jobs.begin(), jobs.end(), [&](const JobStatus& job) { return job.state == state; }));
}

bool RunStatus::IsOver() const {
  return std::none_of(jobs.begin(), jobs.end(), [](const JobStatus& job) { return IsOpen(job.state); });
}

Result<std::vector<std::vector<AttemptState>>> ReadAllAttempts(Env& env, const Run& run) {
  std::vector<std::vector<AttemptState>> all;
  for (const Job& job : run.graph.jobs) {
    PTPKG_TRY(std::vector<AttemptState> attempts, ReadAttempts(env, run, job));
    all.push_back(std::move(attempts));
  }
  return all;
}

void AddEngineEnd(const std::string& ended, JobStatus& job) {
  if (ended.empty() || job.state == JobState::kPassed) return;
  job.error = job.error.empty() ? ended : fmt::format("{}; {}", ended, job.error);
}

Result<RunStatus> ReadStatus(Env& env, const Run& run,
                             const std::optional<std::map<std::string, EngineJob>>& engine, bool alive) {
  RunStatus status;
  PTPKG_TRY(status.cancelled, Exists(env.fs, run.CancelFile()));
  PTPKG_TRY(const std::vector<std::vector<AttemptState>> attempts, ReadAllAttempts(env, run));
  for (std::size_t i = 0; i < run.graph.jobs.size(); ++i) {
    const Job& job = run.graph.jobs[i];
    EngineJob known;
    if (engine && engine->contains(job.id)) known = engine->at(job.id);
    status.jobs.push_back(StatusOf(job, attempts[i], known, engine ? known.queued : alive));
  }
  MarkNotStarted(run, engine ? false : alive && !status.cancelled, status);
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(env.clock.WallNow().time_since_epoch());
  status.read_s = now.count();
  status.seconds_left = SecondsLeft(run, status);
  return status;
}

Json StatusToJson(const Run& run, const RunStatus& status) {
  Json jobs = Json::array();
  for (std::size_t i = 0; i < status.jobs.size(); ++i) {
    const JobStatus& job = status.jobs[i];
    Json needs = Json::array();
    for (const std::size_t need : run.graph.jobs[i].needs) needs.push_back(run.graph.jobs[need].id);
    jobs.push_back({{"id", job.id},
                    {"state", JobStateName(job.state)},
                    {"attempts", job.attempts},
                    {"worker", job.worker},
                    {"started", job.started_s},
                    {"seconds", job.seconds},
                    {"expected_seconds", job.expected_seconds},
                    {"cached", job.cached},
                    {"error", job.error},
                    {"needs", needs},
                    {"engine_id", job.engine.id},
                    {"engine_state", job.engine.state},
                    {"engine_reason", job.engine.reason}});
  }
  return {{"run", run.folder.str()},
          {"engine", run.settings.engine},
          {"output", run.settings.output.str()},
          {"cancelled", status.cancelled},
          {"time", status.read_s},
          {"seconds_left", status.seconds_left ? Json(*status.seconds_left) : Json(nullptr)},
          {"jobs", jobs}};
}

std::set<std::size_t> JobsToRun(const Run& run, const std::vector<std::vector<AttemptState>>& attempts) {
  const std::vector<Job>& jobs = run.graph.jobs;
  std::set<std::size_t> chosen;
  for (std::size_t i = jobs.size(); i-- > 0;) {
    const AttemptState* last = attempts[i].empty() ? nullptr : &attempts[i].back();
    const bool passed = last != nullptr && last->end && last->end->end == JobEnd::kPassed;
    if (!passed) chosen.insert(i);
    if (!chosen.contains(i) || last == nullptr || !last->end) continue;
    // A job that was chosen for its successors checks its own inputs, and so on.
    const std::string& code = last->end->error_code;
    if (passed || code == "not_found" || code == "hash_mismatch")
      chosen.insert(jobs[i].needs.begin(), jobs[i].needs.end());
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].after_failures && !chosen.empty()) chosen.insert(i);
  }
  return chosen;
}

}  // namespace ptpkg::matrix
