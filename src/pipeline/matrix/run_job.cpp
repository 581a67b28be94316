// A job trusts no scheduler: that its predecessors ended well is read from their records, and that their
// results are the ones of these records from the digests of what lies in the cache or the output directory
// now.
//
// While the job runs, its lease is renewed on another thread. When that fails, everything stops, because a
// second attempt may begin. Just before each node, and so before a publication, the attempt looks whether it
// was ended.

#include "pipeline/matrix/run_job.h"

#include <fmt/core.h>
#include <map>
#include <optional>
#include <set>

#include "graph/plan.h"
#include "matrix/attempt.h"
#include "matrix/lease_keeper.h"
#include "matrix/slurm.h"
#include "pipeline/plan/run_plan.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

using graph::NodeState;
using matrix::JobEnd;

/// "host h1, process 4711, Slurm job 12_3": for people, and for the engine that started the process.
std::string WorkerName(Env& env) {
  const auto host = ReadFile(env.fs, AbsPath::Literal("/proc/sys/kernel/hostname"));
  const auto process = env.fs.ReadLink(AbsPath::Literal("/proc/self"));
  const std::string name = fmt::format("host {}, process {}", host ? std::string(Trim(*host)) : "unknown",
                                       process ? *process : "unknown");
  const std::string local = env.Variable(kLocalJobVariable);
  if (!local.empty()) return name + LocalJobMark(local);
  const std::string array = env.Variable("SLURM_ARRAY_JOB_ID");
  if (!array.empty())
    return fmt::format("{}{}{}_{}", name, matrix::kSlurmJobMark, array, env.Variable("SLURM_ARRAY_TASK_ID"));
  const std::string single = env.Variable("SLURM_JOB_ID");
  return single.empty() ? name : fmt::format("{}{}{}", name, matrix::kSlurmJobMark, single);
}

/// The records of the jobs whose results a job reads, by node.
class Inputs {
 public:
  /// Errors: kNotFound for a job that has not passed, unless the job runs after failures; then its nodes are
  /// in missing().
  static Result<Inputs> Read(Env& env, const matrix::Run& run, const matrix::Job& job) {
    Inputs inputs(run, job);
    for (const std::size_t number : job.needs) {
      const matrix::Job& need = run.graph.jobs[number];
      PTPKG_TRY(const std::vector<matrix::AttemptState> attempts, matrix::ReadAttempts(env, run, need));
      const matrix::AttemptState* passed = matrix::PassedAttempt(attempts);
      if (passed == nullptr && !job.after_failures) {
        return Error(ErrorCode::kNotFound,
                     fmt::format("job '{}' needs '{}', which has not passed", job.id, need.id))
            .WithHint(inputs.Hint());
      }
      for (const std::string& id : need.nodes) {
        const matrix::NodeRecord* node = passed == nullptr ? nullptr : passed->end->Find(id);
        if (node == nullptr) {
          inputs.missing_.insert(id);
        } else {
          inputs.digests_.emplace(id, node->digest);
        }
      }
    }
    return inputs;
  }

  [[nodiscard]] const std::set<std::string>& missing() const { return missing_; }

  /// Compares the result of node `id` with its record. `result`: null if the node has none.
  [[nodiscard]] Result<void> Compare(const std::string& id, const graph::NodeResult* result) const {
    const auto recorded = digests_.find(id);
    if (result == nullptr || recorded == digests_.end()) {
      return Error(ErrorCode::kNotFound, fmt::format("the input '{}' of job '{}' is missing", id, job_))
          .WithHint(Hint());
    }
    if (matrix::DigestOfResult(*result) == recorded->second) return Ok();
    return Error(ErrorCode::kHashMismatch,
                 fmt::format("the input '{}' of job '{}' is not the one that its job made", id, job_))
        .WithHint(Hint());
  }

 private:
  Inputs(const matrix::Run& run, const matrix::Job& job) : run_(run.folder.str()), job_(job.id) {}
  [[nodiscard]] std::string Hint() const {
    return fmt::format("make it again: ptpkg matrix resume {}", run_);
  }

  std::string run_;
  std::string job_;
  std::map<std::string, std::string> digests_;
  std::set<std::string> missing_;
};

/// For a job that runs after failures: the plan without needs that nobody made.
void DropMissingNeeds(const std::set<std::string>& missing, const matrix::Job& job, graph::Plan& plan) {
  const std::set<std::string> own(job.nodes.begin(), job.nodes.end());
  for (graph::Node& node : plan.nodes) {
    if (own.contains(node.id))
      std::erase_if(node.needs, [&](const auto& need) { return missing.contains(need.second); });
  }
}

std::string StateName(const graph::NodeOutcome& outcome) {
  switch (outcome.state) {
    case NodeState::kRan:
      return "ran";
    case NodeState::kFound:
      return "cached";
    case NodeState::kFailed:
      return "failed";
    case NodeState::kNotNeeded:
      return "not needed";
    case NodeState::kWouldRun:
    case NodeState::kNotReached:
      break;
  }
  return "not reached";
}

std::vector<matrix::NodeRecord> NodeRecords(const graph::Plan& plan, const matrix::Job& job,
                                            const std::vector<graph::NodeOutcome>& outcomes) {
  const std::set<std::string> own(job.nodes.begin(), job.nodes.end());
  std::vector<matrix::NodeRecord> records;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!own.contains(plan.nodes[i].id)) continue;
    const graph::NodeOutcome& outcome = outcomes[i];
    const bool made = outcome.state == NodeState::kRan || outcome.state == NodeState::kFound;
    records.push_back({.id = plan.nodes[i].id,
                       .key = outcome.result.key,
                       .state = StateName(outcome),
                       .reason = outcome.error ? outcome.error->message() : outcome.reason,
                       .begin_seconds = outcome.begin_seconds,
                       .seconds = outcome.seconds,
                       .digest = made ? matrix::DigestOfResult(outcome.result) : ""});
  }
  return records;
}

/// True for an error that running the job again can mend by itself.
bool IsOutside(ErrorCode code) {
  return code == ErrorCode::kIo || code == ErrorCode::kNetwork || code == ErrorCode::kCancelled;
}

/// Times of all jobs, for the manifest.
Result<std::vector<StageTime>> TimesOfRun(Env& env, const matrix::Run& run, const graph::Plan& plan) {
  std::vector<StageTime> times;
  for (const matrix::Job& job : run.graph.jobs) {
    PTPKG_TRY(const std::vector<matrix::AttemptState> attempts, matrix::ReadAttempts(env, run, job));
    const matrix::AttemptState* passed = matrix::PassedAttempt(attempts);
    if (passed == nullptr) continue;
    for (const matrix::NodeRecord& record : passed->end->nodes) {
      const graph::Node* node = plan.Find(record.id);
      if (node == nullptr) continue;
      times.push_back({.stage = node->stage,
                       .subject = node->subject,
                       .ran = record.state == "ran",
                       .reason = record.reason,
                       .begin_seconds = record.begin_seconds,
                       .seconds = record.seconds});
    }
  }
  return times;
}

struct Work {
  const matrix::Run& run;
  const matrix::Job& job;
  const matrix::Attempt& attempt;
  const matrix::LeaseKeeper& keeper;
};

/// The nodes of the job, once all inputs are compared.
Result<JobOutcome> RunNodes(Env& env, const Work& work) {
  PTPKG_TRY(graph::Plan plan, matrix::ReadPlan(env, work.run));
  PTPKG_TRY(const Inputs inputs, Inputs::Read(env, work.run, work.job));
  DropMissingNeeds(inputs.missing(), work.job, plan);
  const std::set<std::string> only(work.job.nodes.begin(), work.job.nodes.end());
  graph::ExecuteOptions options{.only = &only};
  JobOutcome outcome;
  options.outside = [&](const graph::Node& node, const graph::NodeResult* result) -> Result<void> {
    PTPKG_CHECK(inputs.Compare(node.id, result));
    outcome.record.inputs.emplace(node.id, matrix::DigestOfResult(*result));
    return Ok();
  };
  options.before = [&](const graph::Node&) -> Result<void> {
    PTPKG_CHECK(work.keeper.Check());
    return work.attempt.CheckOpen();
  };
  const matrix::RunSettings& settings = work.run.settings;
  PTPKG_TRY(PartOutcome part,
            RunPart(env, plan, options,
                    {.url = settings.remote_cache, .read_only = settings.remote_cache_read_only}));
  outcome.record.nodes = NodeRecords(plan, work.job, part.outcomes);
  outcome.summary = std::move(part.summary);
  const bool is_last = plan.Find(work.job.nodes.back())->stage == "index";
  if (!is_last || outcome.summary.failure) return outcome;
  PTPKG_TRY(std::vector<StageTime> times, TimesOfRun(env, work.run, plan));
  times.insert(times.end(), outcome.summary.stages.begin(), outcome.summary.stages.end());
  PTPKG_CHECK(FinishParts(env, plan, part.outcomes, times));
  return outcome;
}

/// The job by its id, or by the id of one of its nodes.
Result<const matrix::Job*> FindJob(const matrix::Run& run, const std::string& id) {
  if (const matrix::Job* job = run.graph.Find(id)) return job;
  for (const matrix::Job& job : run.graph.jobs) {
    if (std::find(job.nodes.begin(), job.nodes.end(), id) != job.nodes.end()) return &job;
  }
  return Error(ErrorCode::kNotFound, fmt::format("the run '{}' has no job '{}'", run.folder.str(), id))
      .WithHint(fmt::format("list them with 'ptpkg matrix status {}'", run.folder.str()));
}

/// The error of an attempt: why it was stopped from outside counts more than what that did to its nodes.
/// Slurm signals all processes of a job, so its script can end before this process has its own signal.
std::optional<Error> FailureOf(Env& env, const Result<JobOutcome>& outcome,
                               const matrix::LeaseKeeper& keeper) {
  constexpr std::chrono::milliseconds kSignal{500};
  std::optional<Error> failure;
  if (!outcome) failure = outcome.error();
  if (outcome && outcome->summary.failure) failure = *outcome->summary.failure;
  if (!failure) return failure;
  const Result<void> kept = keeper.Check();
  if (!kept) return kept.error();
  if (env.Variable("SLURM_JOB_ID").empty()) return failure;
  const Result<void> slept = SleepUnlessCancelled(env.clock, kSignal, env.cancel);
  return slept ? failure : slept.error();
}

std::string Described(const Error& error) {
  return error.hint().empty() ? error.message() : fmt::format("{}; {}", error.message(), error.hint());
}

}  // namespace

std::string LocalJobMark(const std::string& number) { return ", local job " + number; }

Result<bool> IsRunFolder(Env& env, const AbsPath& path) {
  const Result<FileStat> stat = env.fs.Stat(path);
  if (!stat && stat.error().code() == ErrorCode::kNotFound) return false;
  if (!stat) return Error(stat.error());
  return stat->kind == FileKind::kDirectory;
}

Result<JobOutcome> RunJob(Env& env, const JobRequest& request) {
  PTPKG_TRY(const matrix::Run run, matrix::OpenRun(env, request.run, request.version));
  PTPKG_TRY(const matrix::Job* job, FindJob(run, request.job));
  PTPKG_TRY(matrix::Attempt attempt, matrix::Attempt::Begin(env, run, *job, WorkerName(env)));
  CancelToken stop;
  Env here = WithCancel(env, stop);
  here.cache_dir = run.settings.cache;
  here.offline = env.offline || run.settings.offline;
  const auto begin = env.clock.Now();
  const auto wall = std::chrono::duration_cast<std::chrono::seconds>(env.clock.WallNow().time_since_epoch());
  JobOutcome done;
  std::optional<Error> failure;
  {
    const matrix::TimeLimit limit{.job = job->id, .minutes = job->resources.minutes, .begin = begin};
    const matrix::LeaseKeeper keeper(env, run, limit, attempt, stop);
    Result<JobOutcome> outcome = RunNodes(here, {run, *job, attempt, keeper});
    failure = FailureOf(env, outcome, keeper);
    if (outcome) done = *std::move(outcome);
  }
  done.attempt = attempt.number();
  done.record.started_s = wall.count();
  done.record.seconds = std::chrono::duration<double>(env.clock.Now() - begin).count();
  if (failure) {
    done.record.end = IsOutside(failure->code()) ? JobEnd::kStopped : JobEnd::kFailed;
    done.record.error = Described(*failure);
    done.record.error_code = ErrorCodeName(failure->code());
  }
  PTPKG_CHECK(attempt.End(done.record));
  if (failure)
    return std::move(*failure).WithContext(fmt::format("in attempt {} of job '{}'", done.attempt, job->id));
  return done;
}

}  // namespace ptpkg::pipeline
