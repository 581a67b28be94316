#include "pipeline/matrix/matrix.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <map>
#include <set>

#include "pipeline/matrix/hosted_run.h"
#include "pipeline/matrix/local.h"
#include "pipeline/matrix/slurm_engine.h"
#include "publish/output/output_folder.h"
#include "support/digest/hash.h"
#include "support/process/process.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

constexpr std::array<const char*, 6> kEngines = {"local", "slurm", "github", "gitlab", "kubernetes", "json"};

/// Time of each (stage, subject) in the last run that wrote into this output directory.
Result<std::map<std::pair<std::string, std::string>, double>> LastTimes(Env& env, const AbsPath& output) {
  PTPKG_TRY(const publish::OutputFolder folder, publish::OutputFolder::Open(env, output));
  std::map<std::pair<std::string, std::string>, double> times;
  for (const Json& time : folder.times()) {
    if (!time.is_object() || time.value("ran", Json(false)) != true) continue;
    const Json seconds = time.value("seconds", Json());
    if (seconds.is_number())
      times[{time.value("stage", ""), time.value("subject", "")}] = seconds.get<double>();
  }
  return times;
}

Result<void> SetExpectedTimes(Env& env, const AbsPath& output, const graph::Plan& plan,
                              matrix::JobGraph& graph) {
  PTPKG_TRY(const auto times, LastTimes(env, output));
  for (matrix::Job& job : graph.jobs) {
    for (const std::string& id : job.nodes) {
      const graph::Node* node = plan.Find(id);
      const auto time = times.find({node->stage, node->subject});
      if (time != times.end()) job.expected_seconds += time->second;
    }
  }
  return Ok();
}

/// Differs for each start, so that a scheduler never takes one run for another.
std::string NewKey(Env& env, const graph::Plan& plan) {
  constexpr std::size_t kDigits = 12;
  KeyHasher hasher;
  for (const graph::NodeKey& key : graph::KeysOf(plan)) hasher.Add("key", key.key);
  hasher.Add("time", std::to_string(env.clock.WallNow().time_since_epoch().count()));
  return hasher.Finish().Hex().substr(0, kDigits);
}

/// Errors: kUsage for a word that does not begin with "--", or an option that ptpkg sets itself: without its
/// comment, for example, a submission is not found again, and jobs of another cluster are not either. sbatch
/// also takes the beginning of a name: "--comm".
Result<void> CheckSbatchOption(const std::string& option) {
  static constexpr std::array<std::string_view, 15> kOwn = {
      "--parsable", "--export",   "--open-mode", "--requeue", "--no-requeue", "--kill-on-invalid-dep",
      "--comment",  "--array",    "--chdir",     "--output",  "--wait",       "--dependency",
      "--wrap",     "--clusters", "--partition"};
  const std::string name = option.substr(0, option.find('='));
  const bool is_own =
      std::any_of(kOwn.begin(), kOwn.end(), [&](std::string_view own) { return own.starts_with(name); });
  if (option.starts_with("--") && !is_own) return Ok();
  return Error(ErrorCode::kUsage, fmt::format("--sbatch cannot take '{}'", option))
      .WithHint("give a long option that ptpkg does not set itself: --sbatch=--account=NAME");
}

Result<void> CheckRequest(const MatrixRequest& request) {
  const auto refuse = [&](const char* option, const char* engines) {
    return Error(ErrorCode::kUsage,
                 fmt::format("{} applies to --on {}, not to --on {}", option, engines, request.engine));
  };
  const bool slurm = request.engine == "slurm";
  const bool kubernetes = request.engine == "kubernetes";
  const bool ci = IsCi(request.engine);
  if (!slurm && !request.partition.empty()) return refuse("--partition", "slurm");
  if (!slurm && !request.engine_options.empty()) return refuse("--sbatch", "slurm");
  if (!kubernetes && !request.volume.empty()) return refuse("--volume", "kubernetes");
  for (const std::string& option : request.engine_options) PTPKG_CHECK(CheckSbatchOption(option));
  if (!ci && !kubernetes && !request.image.empty()) return refuse("--image", "github, gitlab and kubernetes");
  if (!ci && !request.labels.empty()) return refuse("--runner", "github and gitlab");
  return Ok();
}

matrix::Publishing PublishingOf(const std::string& engine) {
  return IsCi(engine) ? matrix::Publishing::kInLastJob : matrix::Publishing::kInEachJob;
}

struct PlannedRun {
  matrix::Run run = {};
  graph::Plan plan = {};
  std::vector<std::string> skipped = {};
};

Result<PlannedRun> PlanRun(Env& env, const MatrixRequest& request) {
  PTPKG_TRY(BuildPlan planned, PlanBuild(env, request.build));
  PlannedRun result{.plan = std::move(planned.plan), .skipped = std::move(planned.skipped)};
  if (result.plan.nodes.empty()) {
    return Error(ErrorCode::kInvalidInput, "the recipes skip all variants, so the run has no jobs")
        .WithHint("look at the variants with 'ptpkg render'");
  }
  matrix::Run& run = result.run;
  run.graph = matrix::GroupNodes(result.plan, PublishingOf(request.engine));
  PTPKG_CHECK(SetExpectedTimes(env, request.build.output, result.plan, run.graph));
  run.settings = {.key = NewKey(env, result.plan),
                  .version = request.version,
                  .engine = request.engine,
                  .cache = env.cache_dir,
                  .output = request.build.output,
                  .lease_seconds = request.lease_seconds,
                  .offline = env.offline,
                  .remote_cache = request.build.remote_cache.url,
                  .remote_cache_read_only = request.build.remote_cache.read_only};
  if (request.engine == "slurm") {
    // By --partition, as its clients don't see the variable: the check of the cluster must know it.
    const std::string usual = env.Variable("SBATCH_PARTITION");
    run.settings.engine_settings = {{"partition", request.partition.empty() ? usual : request.partition},
                                    {"sbatch", request.engine_options}};
  }
  run.folder = request.run.value_or(env.cwd / ("matrix-" + run.settings.key));
  return result;
}

/// `alive`: a process runs the jobs of a run with the engine "local".
Result<matrix::RunStatus> ReadStatusOf(Env& env, const matrix::Run& run, bool alive) {
  if (run.settings.engine == "slurm") {
    PTPKG_TRY(const auto engine, AskSlurm(env, run));
    PTPKG_TRY(matrix::RunStatus status, matrix::ReadStatus(env, run, engine, false));
    AskAccounting(env, run, status);
    return status;
  }
  return matrix::ReadStatus(env, run, std::nullopt, run.settings.engine != "local" || alive);
}

Result<matrix::RunStatus> StatusOf(Env& env, const matrix::Run& run) {
  if (run.settings.engine != "local") return ReadStatusOf(env, run, false);
  PTPKG_TRY(const bool alive, matrix::IsRunLeased(env, run));
  return ReadStatusOf(env, run, alive);
}

std::set<std::size_t> AllJobs(const matrix::JobGraph& graph) {
  std::set<std::size_t> jobs;
  for (std::size_t i = 0; i < graph.jobs.size(); ++i) jobs.insert(i);
  return jobs;
}

/// Errors: kIo when a job asks for more space than the cache's file system has.
Result<void> CheckSpace(Env& env, const matrix::Run& run, const std::set<std::size_t>& jobs) {
  PTPKG_TRY(const std::uint64_t free, env.fs.FreeBytes(run.settings.cache));
  for (const std::size_t number : jobs) {
    const matrix::Job& job = run.graph.jobs[number];
    if (job.resources.disk_bytes <= free) continue;
    return Error(ErrorCode::kIo, fmt::format("job '{}' asks for {} in '{}', which has {} free", job.id,
                                             HumanBytes(job.resources.disk_bytes), run.settings.cache.str(),
                                             HumanBytes(free)))
        .WithHint("make room with 'ptpkg cache clean', or choose another cache with --cache-dir");
  }
  return Ok();
}

/// All that can be known before a job starts. Returns the nodes of the cluster, for Slurm.
Result<std::vector<matrix::SinfoRow>> CheckJobs(Env& env, const matrix::Run& run,
                                                const std::set<std::size_t>& jobs) {
  for (const AbsPath& shared : {run.settings.cache, run.settings.output})
    PTPKG_CHECK(matrix::RequireLocks(env, shared));
  PTPKG_CHECK(CheckSpace(env, run, jobs));
  if (run.settings.engine == "slurm") return CheckSlurm(env, run, jobs);
  return std::vector<matrix::SinfoRow>();
}

/// Runs these jobs, or hands them to the scheduler.
Result<void> HandOver(Env& env, const std::string& program, const std::set<std::size_t>& jobs,
                      const std::vector<matrix::SinfoRow>& nodes, MatrixOutcome& outcome) {
  if (outcome.run.settings.engine == "slurm") {
    PTPKG_TRY(outcome.files, SubmitSlurm(env, outcome.run, jobs, nodes, program));
    return Ok();
  }
  PTPKG_TRY(const AbsPath path, AbsPath::Parse(program));
  return RunLocal(env, outcome.run, {.program = path, .jobs = jobs});
}

/// Writes the files of engines that ptpkg does not call. The description of the run serves any other engine.
Result<std::vector<AbsPath>> WriteHosted(Env& env, const matrix::Run& run,
                                         const std::vector<matrix::HostedFile>& files) {
  std::vector<AbsPath> paths;
  for (const matrix::HostedFile& file : files) {
    const AbsPath path = run.folder / file.name;
    PTPKG_CHECK(env.fs.MakeDirs(path.Parent()));
    PTPKG_CHECK(WriteFile(env.fs, path, file.text));
    paths.push_back(path);
  }
  if (paths.empty()) paths = {run.folder / "run.json", run.PlanFile()};
  return paths;
}

/// Engines that run jobs; for the others, ptpkg only writes files.
bool RunsJobs(const std::string& engine) { return engine == "local" || engine == "slurm"; }

/// Starts the jobs of a run that have to run again. REQUIRES: the lease of the run.
Result<void> StartAgain(Env& env, const RunRequest& request, MatrixOutcome& outcome) {
  PTPKG_TRY(outcome.status, ReadStatusOf(env, outcome.run, false));
  const bool queued = std::any_of(outcome.status.jobs.begin(), outcome.status.jobs.end(),
                                  [](const matrix::JobStatus& job) { return job.engine.queued; });
  if (queued || outcome.status.Count(matrix::JobState::kRunning) > 0) {
    return Error(ErrorCode::kRefused,
                 fmt::format("jobs of '{}' are still queued or running", request.run.str()))
        .WithHint(
            fmt::format("wait for them, or stop them with 'ptpkg matrix cancel {}'", request.run.str()));
  }
  PTPKG_TRY(const auto attempts, matrix::ReadAllAttempts(env, outcome.run));
  const std::set<std::size_t> jobs = matrix::JobsToRun(outcome.run, attempts);
  PTPKG_TRY(const std::vector<matrix::SinfoRow> nodes, CheckJobs(env, outcome.run, jobs));
  if (outcome.status.cancelled) PTPKG_CHECK(env.fs.Remove(outcome.run.CancelFile()));
  return HandOver(env, request.program, jobs, nodes, outcome);
}

/// For engines that ptpkg does not call. Errors: kUsage for a run that is not cancelled, kRefused while jobs
/// run, which would go on as if nobody had cancelled them.
Result<void> LiftCancellation(Env& env, const matrix::Run& run) {
  PTPKG_TRY(const bool cancelled, Exists(env.fs, run.CancelFile()));
  const std::string& engine = run.settings.engine;
  const std::string shown = ShellQuote({run.folder.str()});
  std::string how = fmt::format("start each job with 'ptpkg run-node {} JOB'", shown);
  if (engine == "kubernetes") {
    how = fmt::format("remove its Jobs with 'kubectl delete jobs -l ptpkg/run={}', and start {}",
                      run.settings.key, ShellQuote({(run.folder / "kubernetes/run.sh").str()}));
  }
  if (IsCi(engine)) how = "start the workflow or pipeline again in that service";
  if (!cancelled) {
    return Error(ErrorCode::kUsage,
                 fmt::format("'{}' was written for {}, which runs its jobs", run.folder.str(), engine))
        .WithHint(how);
  }
  PTPKG_TRY(const matrix::RunStatus status, ReadStatusOf(env, run, true));
  if (status.Count(matrix::JobState::kRunning) > 0) {
    return Error(ErrorCode::kRefused, fmt::format("jobs of '{}' have not stopped yet", run.folder.str()))
        .WithHint(
            fmt::format("wait until 'ptpkg matrix status {}' shows none as running. If their machines are "
                        "gone, use: rm {}",
                        shown, ShellQuote({run.CancelFile().str()})));
  }
  PTPKG_CHECK(env.fs.Remove(run.CancelFile()));
  env.reporter.Note(fmt::format("'{}' is not cancelled any more; {}", run.folder.str(), how));
  return Ok();
}

}  // namespace

std::vector<std::string> MatrixEngines() { return {kEngines.begin(), kEngines.end()}; }

Result<MatrixOutcome> StartMatrix(Env& env, const MatrixRequest& request) {
  PTPKG_CHECK(CheckRequest(request));
  PTPKG_TRY(PlannedRun planned, PlanRun(env, request));
  MatrixOutcome outcome{.run = planned.run, .skipped = planned.skipped};
  const std::set<std::size_t> jobs = AllJobs(outcome.run.graph);
  PTPKG_TRY(const std::vector<matrix::HostedFile> files, HostedFiles(env, request, outcome.run));
  if (request.dry_run) {
    // Not CheckJobs, which makes the directories to try their locks.
    if (request.engine == "slurm") PTPKG_CHECK(CheckSlurm(env, outcome.run, jobs));
    return outcome;
  }
  std::vector<matrix::SinfoRow> nodes;
  if (RunsJobs(request.engine)) {
    PTPKG_TRY(nodes, CheckJobs(env, outcome.run, jobs));
  }
  {
    PTPKG_TRY(const Lease lease, matrix::CreateRun(env, outcome.run, planned.plan));
    if (RunsJobs(request.engine)) {
      PTPKG_CHECK(HandOver(env, request.program, jobs, nodes, outcome));
    } else {
      PTPKG_TRY(outcome.files, WriteHosted(env, outcome.run, files));
    }
  }
  PTPKG_TRY(outcome.status, StatusOf(env, outcome.run));
  return outcome;
}

Result<MatrixOutcome> MatrixStatus(Env& env, const RunRequest& request) {
  MatrixOutcome outcome;
  PTPKG_TRY(outcome.run, matrix::OpenRun(env, request.run, request.version));
  PTPKG_TRY(outcome.status, StatusOf(env, outcome.run));
  const bool has_begun = outcome.status.Count(matrix::JobState::kWaiting) < outcome.status.jobs.size();
  if (IsCi(outcome.run.settings.engine) && !has_begun) {
    env.reporter.Note(fmt::format("jobs of {} record what they did in their own copies of '{}', not here",
                                  outcome.run.settings.engine, outcome.run.folder.str()));
  }
  return outcome;
}

Result<MatrixOutcome> CancelMatrix(Env& env, const RunRequest& request) {
  PTPKG_TRY(const matrix::Run run, matrix::OpenRun(env, request.run, request.version));
  if (IsCi(run.settings.engine)) {
    return Error(ErrorCode::kUnsupported, fmt::format("'{}' was written for {}, whose jobs don't see it",
                                                      request.run.str(), run.settings.engine))
        .WithHint("cancel the workflow or pipeline in that service");
  }
  PTPKG_CHECK(WriteFile(env.fs, run.CancelFile(), ""));
  if (run.settings.engine == "slurm") PTPKG_CHECK(CancelSlurm(env, run));
  return MatrixStatus(env, request);
}

Result<MatrixOutcome> ResumeMatrix(Env& env, const RunRequest& request) {
  MatrixOutcome outcome;
  PTPKG_TRY(outcome.run, matrix::OpenRun(env, request.run, request.version));
  if (request.has_jobs && outcome.run.settings.engine != "local") {
    return Error(ErrorCode::kUsage, fmt::format("--jobs applies to runs of --on local, not of --on {}",
                                                outcome.run.settings.engine))
        .WithHint("set 'cores' in extra.ptpkg.resources of the recipe, and start a new run");
  }
  if (RunsJobs(outcome.run.settings.engine)) {
    // Before the state is read: two calls at once would find the same jobs, and start each of them twice.
    PTPKG_TRY(const Lease lease, matrix::LeaseRun(env, outcome.run));
    PTPKG_CHECK(StartAgain(env, request, outcome));
  } else {
    PTPKG_CHECK(LiftCancellation(env, outcome.run));
  }
  PTPKG_TRY(outcome.status, StatusOf(env, outcome.run));
  return outcome;
}

Result<std::string> MatrixLog(Env& env, const RunRequest& request, const std::string& job) {
  PTPKG_TRY(const matrix::Run run, matrix::OpenRun(env, request.run, request.version));
  const matrix::Job* found = run.graph.Find(job);
  if (found == nullptr) {
    return Error(ErrorCode::kNotFound, fmt::format("the run '{}' has no job '{}'", run.folder.str(), job))
        .WithHint(fmt::format("list them with 'ptpkg matrix status {}'", run.folder.str()));
  }
  Result<std::string> text = ReadFile(env.fs, run.LogFile(*found));
  if (text || text.error().code() != ErrorCode::kNotFound) return text;
  PTPKG_TRY(const std::vector<matrix::AttemptState> attempts, matrix::ReadAttempts(env, run, *found));
  const char* why = attempts.empty() ? "it has not started" : "its output went where 'ptpkg run-node' ran";
  return Error(ErrorCode::kNotFound, fmt::format("job '{}' has no log: {}", job, why));
}

}  // namespace ptpkg::pipeline
