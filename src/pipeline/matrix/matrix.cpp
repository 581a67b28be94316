#include "pipeline/matrix/matrix.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <map>
#include <set>

#include "matrix/hosted.h"
#include "pipeline/commands/ci_workflow.h"
#include "pipeline/matrix/local.h"
#include "pipeline/matrix/run_job.h"
#include "pipeline/matrix/slurm_engine.h"
#include "publish/output/output_folder.h"
#include "support/digest/hash.h"
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
/// comment, for example, a submission is not found again.
Result<void> CheckSbatchOption(const std::string& option) {
  static constexpr std::array<std::string_view, 13> kOwn = {
      "--parsable", "--export", "--open-mode", "--requeue", "--no-requeue", "--kill-on-invalid-dep",
      "--comment",  "--array",  "--chdir",     "--output",  "--wait",       "--dependency",
      "--wrap"};
  const std::string name = option.substr(0, option.find('='));
  if (option.starts_with("--") && std::find(kOwn.begin(), kOwn.end(), name) == kOwn.end()) return Ok();
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
  const bool hosted = kubernetes || request.engine == "github" || request.engine == "gitlab";
  if (!slurm && !request.partition.empty()) return refuse("--partition", "slurm");
  if (!slurm && !request.engine_options.empty()) return refuse("--sbatch", "slurm");
  if (!kubernetes && !request.volume.empty()) return refuse("--volume", "kubernetes");
  for (const std::string& option : request.engine_options) PTPKG_CHECK(CheckSbatchOption(option));
  if (!hosted && !request.image.empty()) return refuse("--image", "github, gitlab and kubernetes");
  if (!hosted && !request.labels.empty()) return refuse("--runner", "github and gitlab");
  return Ok();
}

matrix::Publishing PublishingOf(const std::string& engine) {
  return engine == "github" || engine == "gitlab" ? matrix::Publishing::kInLastJob
                                                  : matrix::Publishing::kInEachJob;
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
  if (request.engine == "slurm")
    run.settings.engine_settings = {{"partition", request.partition}, {"sbatch", request.engine_options}};
  run.folder = request.run.value_or(env.cwd / ("matrix-" + run.settings.key));
  return result;
}

Result<matrix::RunStatus> StatusOf(Env& env, const matrix::Run& run) {
  if (run.settings.engine == "slurm") {
    PTPKG_TRY(const auto engine, AskSlurm(env, run));
    return matrix::ReadStatus(env, run, engine, false);
  }
  if (run.settings.engine != "local") return matrix::ReadStatus(env, run, std::nullopt, true);
  PTPKG_TRY(const bool alive, IsRunningLocally(env, run));
  return matrix::ReadStatus(env, run, std::nullopt, alive);
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

/// All that can be known before a job starts.
Result<void> CheckJobs(Env& env, const matrix::Run& run, const std::set<std::size_t>& jobs) {
  for (const AbsPath& shared : {run.settings.cache, run.settings.output})
    PTPKG_CHECK(matrix::RequireLocks(env, shared));
  PTPKG_CHECK(CheckSpace(env, run, jobs));
  return run.settings.engine == "slurm" ? CheckSlurm(env, run, jobs) : Ok();
}

/// Runs these jobs, or hands them to the scheduler.
Result<void> HandOver(Env& env, const std::string& program, const std::set<std::size_t>& jobs,
                      MatrixOutcome& outcome) {
  if (outcome.run.settings.engine == "slurm") {
    PTPKG_TRY(outcome.files, SubmitSlurm(env, outcome.run, jobs, program));
    return Ok();
  }
  PTPKG_TRY(const AbsPath path, AbsPath::Parse(program));
  return RunLocal(env, outcome.run, {.program = path, .jobs = jobs});
}

/// "CLAIM:PATH" of --volume. Errors: kUsage; also for a run, cache or output directory outside of PATH.
Result<std::pair<std::string, AbsPath>> ReadVolume(const std::string& volume, const matrix::Run& run) {
  const std::size_t colon = volume.find(':');
  const auto path = colon == std::string::npos ? Result<AbsPath>(Error(ErrorCode::kUsage, ""))
                                               : AbsPath::Parse(std::string_view(volume).substr(colon + 1));
  if (colon == 0 || !path) {
    return Error(ErrorCode::kUsage, fmt::format("--volume '{}' is not CLAIM:PATH", volume))
        .WithHint("name the claim of the shared volume and its mount point: --volume ptpkg:/shared");
  }
  for (const AbsPath& shared : {run.folder, run.settings.cache, run.settings.output}) {
    if (shared.IsWithin(*path)) continue;
    return Error(ErrorCode::kUsage,
                 fmt::format("'{}' is not on the volume at '{}'", shared.str(), path->str()))
        .WithHint("choose --run, --output and --cache-dir below the mount point");
  }
  return std::pair(volume.substr(0, colon), *path);
}

Result<std::vector<matrix::HostedFile>> HostedFiles(const MatrixRequest& request, const matrix::Run& run) {
  matrix::HostedRequest hosted{.arguments = request.arguments,
                               .image = request.image,
                               .labels = request.labels,
                               .program = request.program};
  for (const std::string& word : request.arguments) PTPKG_CHECK(CheckSingleLine("the argument", word));
  if (request.engine == "github") return matrix::GithubFiles(run, hosted);
  if (request.engine == "gitlab") return matrix::GitlabFiles(run, hosted);
  if (request.engine != "kubernetes") return std::vector<matrix::HostedFile>();
  if (request.image.empty() || request.volume.empty())
    return Error(ErrorCode::kUsage, "--on kubernetes needs --image and --volume");
  PTPKG_TRY(const auto volume, ReadVolume(request.volume, run));
  hosted.claim = volume.first;
  hosted.mount = volume.second;
  return matrix::KubernetesFiles(run, hosted);
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

}  // namespace

std::vector<std::string> MatrixEngines() { return {kEngines.begin(), kEngines.end()}; }

Result<MatrixOutcome> StartMatrix(Env& env, const MatrixRequest& request) {
  PTPKG_CHECK(CheckRequest(request));
  PTPKG_TRY(PlannedRun planned, PlanRun(env, request));
  MatrixOutcome outcome{.run = planned.run, .skipped = planned.skipped};
  if (request.dry_run) return outcome;
  const std::set<std::size_t> jobs = AllJobs(outcome.run.graph);
  PTPKG_TRY(const std::vector<matrix::HostedFile> files, HostedFiles(request, outcome.run));
  if (RunsJobs(request.engine)) PTPKG_CHECK(CheckJobs(env, outcome.run, jobs));
  PTPKG_CHECK(matrix::CreateRun(env, outcome.run, planned.plan));
  if (RunsJobs(request.engine)) {
    PTPKG_CHECK(HandOver(env, request.program, jobs, outcome));
  } else {
    PTPKG_TRY(outcome.files, WriteHosted(env, outcome.run, files));
  }
  PTPKG_TRY(outcome.status, StatusOf(env, outcome.run));
  return outcome;
}

Result<MatrixOutcome> MatrixStatus(Env& env, const RunRequest& request) {
  MatrixOutcome outcome;
  PTPKG_TRY(outcome.run, matrix::OpenRun(env, request.run, request.version));
  PTPKG_TRY(outcome.status, StatusOf(env, outcome.run));
  return outcome;
}

Result<MatrixOutcome> CancelMatrix(Env& env, const RunRequest& request) {
  PTPKG_TRY(const matrix::Run run, matrix::OpenRun(env, request.run, request.version));
  PTPKG_CHECK(WriteFile(env.fs, run.CancelFile(), ""));
  if (run.settings.engine == "slurm") PTPKG_CHECK(CancelSlurm(env, run));
  return MatrixStatus(env, request);
}

Result<MatrixOutcome> ResumeMatrix(Env& env, const RunRequest& request) {
  MatrixOutcome outcome;
  PTPKG_TRY(outcome.run, matrix::OpenRun(env, request.run, request.version));
  PTPKG_TRY(outcome.status, StatusOf(env, outcome.run));
  if (!RunsJobs(outcome.run.settings.engine)) {
    return Error(ErrorCode::kUsage, fmt::format("'{}' was written for {}, which runs its jobs",
                                                request.run.str(), outcome.run.settings.engine));
  }
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
  PTPKG_CHECK(CheckJobs(env, outcome.run, jobs));
  if (outcome.status.cancelled) PTPKG_CHECK(env.fs.Remove(outcome.run.CancelFile()));
  PTPKG_CHECK(HandOver(env, request.program, jobs, outcome));
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
  return Error(ErrorCode::kNotFound, fmt::format("job '{}' has not started, so it has no log", job));
}

}  // namespace ptpkg::pipeline
