#include "matrix/status.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

namespace ptpkg::matrix {

namespace {

constexpr std::array<std::string_view, 7> kStates = {"waiting", "running", "passed",     "failed",
                                                     "stopped", "lost",    "not started"};

using Attempts = std::vector<std::vector<AttemptState>>;  // of all jobs

/// True if the record lacks the results of this job, or has others.
bool LacksResultsOf(const JobRecord& record, const std::vector<AttemptState>& need) {
  const AttemptState* passed = PassedAttempt(need);
  if (passed == nullptr) return false;
  bool has_some = false;
  for (const NodeRecord& node : passed->end->nodes) {
    const auto read = record.inputs.find(node.id);
    if (read == record.inputs.end()) continue;
    if (read->second != node.digest) return true;
    has_some = true;
  }
  return !has_some;
}

/// True if the last attempt passed. A job that runs after failures must also have read all results that the
/// jobs before it have made since.
bool HasPassed(const Run& run, std::size_t i, const Attempts& attempts) {
  if (attempts[i].empty()) return false;
  const std::optional<JobRecord>& end = attempts[i].back().end;
  if (!end || end->end != JobEnd::kPassed) return false;
  const Job& job = run.graph.jobs[i];
  return !job.after_failures || std::none_of(job.needs.begin(), job.needs.end(), [&](std::size_t need) {
    return LacksResultsOf(*end, attempts[need]);
  });
}

JobState StateOf(const Run& run, std::size_t i, const Attempts& attempts, const EngineJob& engine,
                 bool alive) {
  if (attempts[i].empty()) return JobState::kWaiting;
  const std::optional<JobRecord>& end = attempts[i].back().end;
  // It lost its machine and goes back into the queue, or is the index, which was submitted again.
  if (engine.state == "PENDING" && (!end || run.graph.jobs[i].after_failures)) return JobState::kWaiting;
  if (!end) return alive ? JobState::kRunning : JobState::kLost;
  if (HasPassed(run, i, attempts)) return JobState::kPassed;
  // The scheduler will run it again, or it passed without results that are there now.
  if (engine.queued || end->end == JobEnd::kPassed) return JobState::kWaiting;
  if (end->end == JobEnd::kFenced) return alive ? JobState::kWaiting : JobState::kLost;
  return end->end == JobEnd::kFailed ? JobState::kFailed : JobState::kStopped;
}

JobStatus StatusOf(const Job& job, const std::vector<AttemptState>& attempts, const EngineJob& engine,
                   JobState state) {
  JobStatus status{.id = job.id,
                   .state = state,
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
      if (last.end->end == JobEnd::kPassed && state == JobState::kWaiting && !engine.queued)
        status.error = "it ran before jobs that it needs had passed";
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
  Attempts all;
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
  PTPKG_TRY(const Attempts attempts, ReadAllAttempts(env, run));
  for (std::size_t i = 0; i < run.graph.jobs.size(); ++i) {
    const Job& job = run.graph.jobs[i];
    EngineJob known;
    if (engine && engine->contains(job.id)) known = engine->at(job.id);
    const JobState state = StateOf(run, i, attempts, known, engine ? known.queued : alive);
    status.jobs.push_back(StatusOf(job, attempts[i], known, state));
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

std::set<std::size_t> JobsToRun(const Run& run, const Attempts& attempts) {
  const std::vector<Job>& jobs = run.graph.jobs;
  std::set<std::size_t> chosen;
  for (std::size_t i = jobs.size(); i-- > 0;) {
    const AttemptState* last = attempts[i].empty() ? nullptr : &attempts[i].back();
    const bool passed = HasPassed(run, i, attempts);
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
