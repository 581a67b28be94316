// The clients sbatch, squeue, sinfo and scancel are called with a time limit each, because they wait for a
// controller that may be gone: up to 29 s for one that cannot be reached.
//
// A submission can be accepted although its client timed out. So each has a comment of its own,
// RUN/SUBMISSION/BATCH, and is looked for by it before it is repeated. slurm/SUBMISSION/ has the script and
// the index file of each batch: SUBMISSION counts the calls of `ptpkg matrix` and `ptpkg matrix resume`.

#include "pipeline/matrix/slurm_engine.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <functional>
#include <optional>

#include "support/process/process.h"
#include "support/text/display_text.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

using std::chrono::seconds;

constexpr seconds kClientTime{60};
constexpr int kAttempts = 3;
constexpr std::uint64_t kMostTasks = 1000;  // MaxArraySize of Slurm is 1001, unless a site changes it

/// Without the user's defaults for the clients' options, which would filter the queue or change a submission.
/// Sites set an account and a QOS on purpose. SLURM_CONF and its like choose no jobs.
std::map<std::string, std::string> VariablesOfClients(const Env& env) {
  static constexpr std::string_view kDefaults = "SQUEUE_ SINFO_ SBATCH_ SCANCEL_ SACCT_ SLURM_CLUSTERS";
  const std::vector<std::string> begins = Split(kDefaults, ' ');
  std::map<std::string, std::string> variables = env.variables;
  std::erase_if(variables, [&](const auto& variable) {
    const std::string& name = variable.first;
    return name != "SBATCH_ACCOUNT" && name != "SBATCH_QOS" &&
           std::ranges::any_of(begins, [&](const std::string& begin) { return name.starts_with(begin); });
  });
  return variables;
}

/// The environment of sbatch, which each job gets whole: variables that a user's processes have, the
/// place and the token of the controller, and a Kerberos ticket for file systems. Any other --export than ALL
/// makes slurmd start a login shell of the user for each job, one after the other.
std::map<std::string, std::string> VariablesOfSubmissions(const Env& env) {
  static constexpr std::array<std::string_view, 13> kNames = {
      "PATH",       "HOME",           "USER",       "LOGNAME",
      "SHELL",      "LANG",           "LC_ALL",     "LD_LIBRARY_PATH",
      "KRB5CCNAME", "SBATCH_ACCOUNT", "SBATCH_QOS", "SLURM_CONF",
      "SLURM_JWT"};
  std::map<std::string, std::string> variables = VariablesOfClients(env);
  std::erase_if(variables, [](const auto& variable) {
    return std::ranges::find(kNames, variable.first) == kNames.end();
  });
  return variables;
}

Result<ExitStatus> Call(Env& env, const std::vector<std::string>& argv,
                        std::map<std::string, std::string> variables,
                        const std::function<void(std::string_view)>& on_line = {}) {
  Result<ExitStatus> status = env.process.Run({.argv = argv,
                                               .env = std::move(variables),
                                               .cwd = env.cwd,
                                               .on_line = on_line,
                                               .timeout = kClientTime,
                                               .cancel = &env.cancel});
  if (status || status.error().code() != ErrorCode::kNotFound) return status;
  return std::move(status).error().WithHint(
      fmt::format("install Slurm's clients: '{}' is not on PATH", argv.front()));
}

Error CallFailed(const std::string& name, const ExitStatus& status) {
  const std::string why = status.timed_out ? fmt::format("no answer within {} s", kClientTime.count())
                                           : std::string(Trim(status.output));
  return {ErrorCode::kCommandFailed,
          fmt::format("'{}' failed: {}", name, why.empty() ? "it printed nothing" : DisplayLine(why))};
}

/// The output of a client that only asks.
Result<std::string> Ask(Env& env, const std::vector<std::string>& argv) {
  std::string output;
  // Not status.output, which keeps the last 64 KiB.
  PTPKG_TRY(const ExitStatus status, Call(env, argv, VariablesOfClients(env), [&](std::string_view line) {
              output.append(line).push_back('\n');
            }));
  if (!status.ok()) return CallFailed(argv.front(), status);
  return output;
}

Result<std::vector<matrix::SqueueRow>> Queue(Env& env) {
  PTPKG_TRY(const std::string text,
            Ask(env, {"squeue", "-a", "-h", "-r", "-t", "all", "-o", matrix::kSqueueFormat}));
  return matrix::ParseSqueue(text);
}

Result<std::vector<matrix::SinfoRow>> Nodes(Env& env) {
  PTPKG_TRY(const std::string text, Ask(env, {"sinfo", "-a", "-h", "-N", "-o", matrix::kSinfoFormat}));
  return matrix::ParseSinfo(text);
}

/// Variables of the caller that a build needs, or its plan was made with. Secrets are not among them.
std::map<std::string, std::string> VariablesOf(Env& env, bool has_remote_cache) {
  static constexpr std::array<const char*, 18> kNames = {"PATH",
                                                         "PTPKG_PYTHON",
                                                         "PTPKG_CONDA_EXE",
                                                         "PTPKG_CUDA_HOME",
                                                         "CUDA_HOME",
                                                         "CUDA_PATH",
                                                         "LANG",
                                                         "SSL_CERT_FILE",
                                                         "http_proxy",
                                                         "https_proxy",
                                                         "all_proxy",
                                                         "no_proxy",
                                                         "HTTPS_PROXY",
                                                         "ALL_PROXY",
                                                         "NO_PROXY",
                                                         "SOURCE_DATE_EPOCH",
                                                         "CCACHE_REMOTE_STORAGE",
                                                         "CCACHE_MAXSIZE"};
  // The keys are in the file of the profile.
  static constexpr std::array<const char*, 8> kNamesOfRemoteCache = {
      "AWS_PROFILE",         "AWS_REGION",      "AWS_DEFAULT_REGION",          "AWS_ENDPOINT_URL",
      "AWS_ENDPOINT_URL_S3", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "PTPKG_ANSWER_TIMEOUT"};
  std::vector<const char*> names(kNames.begin(), kNames.end());
  if (has_remote_cache) names.insert(names.end(), kNamesOfRemoteCache.begin(), kNamesOfRemoteCache.end());
  std::map<std::string, std::string> variables;
  for (const char* name : names) {
    const std::string value = env.Variable(name);
    if (value.empty()) continue;
    if (CredentialsIn(value).empty()) {
      variables.emplace(name, value);
    } else {
      env.reporter.Warn(fmt::format(
          "jobs run without {}: its value has a secret, and others can read their scripts", name));
    }
  }
  return variables;
}

struct Submission {
  const matrix::Run& run;
  std::string number;  ///< "1"
  AbsPath folder;      ///< slurm/1
  std::string program;
  const std::vector<matrix::SinfoRow>& nodes;
  std::map<std::string, std::string> variables = {};  ///< VariablesOf.
  std::map<std::string, std::string> submitted = {};  ///< Batch → Slurm's number.

  [[nodiscard]] std::string CommentOf(const std::string& batch) const {
    return fmt::format("{}/{}/{}", run.settings.key, number, batch);
  }
};

/// Makes the directory of the next submission.
Result<std::pair<std::string, AbsPath>> NewFolder(Env& env, const matrix::Run& run) {
  const AbsPath all = run.folder / "slurm";
  PTPKG_CHECK(env.fs.MakeDirs(all));
  for (int number = 1;; ++number) {
    const AbsPath folder = all / std::to_string(number);
    Result<void> made = env.fs.MakeDir(folder);
    if (made) return std::pair(std::to_string(number), folder);
    if (made.error().code() != ErrorCode::kAlreadyExists) return std::move(made).error();
  }
}

/// "toytorch" of "toytorch-1.4.0-py311_cpu_0": what people see in squeue for an array.
std::string NameFor(const matrix::Run& run, const matrix::SlurmBatch& batch) {
  const std::string& id = run.graph.jobs[batch.tasks.begin()->second].id;
  return batch.tasks.size() == 1 ? id : id.substr(0, id.find('-'));
}

std::vector<std::string> Arguments(const Submission& submission, const matrix::SlurmBatch& batch,
                                   const std::string& dependency) {
  constexpr std::uint64_t kMegabyte = 1U << 20U;
  const Json& settings = submission.run.settings.engine_settings;
  const matrix::Resources& resources = batch.resources;
  std::vector<std::string> argv = {
      "sbatch",
      "--parsable",
      "--export=ALL",
      "--open-mode=append",
      "--requeue",
      "--kill-on-invalid-dep=yes",
      fmt::format("--comment={}", submission.CommentOf(batch.name)),
      fmt::format("--job-name={}", NameFor(submission.run, batch)),
      fmt::format("--array={}", matrix::SlurmArray(batch)),
      fmt::format("--chdir={}", submission.run.folder.str()),
      fmt::format("--output={}/{}-%a.out", matrix::SlurmPattern(submission.folder), batch.name),
      fmt::format("--cpus-per-task={}", resources.cores),
      fmt::format("--mem={}M", (resources.memory_bytes + kMegabyte - 1) / kMegabyte)};
  if (resources.gpus > 0) argv.push_back(fmt::format("--gres=gpu:{}", resources.gpus));
  const std::string partition = settings.value("partition", "");
  if (resources.minutes > 0) {
    argv.push_back(
        fmt::format("--time={}", matrix::SlurmMinutes(resources.minutes, submission.nodes, partition)));
  }
  if (!dependency.empty()) argv.push_back(fmt::format("--dependency={}", dependency));
  if (!partition.empty()) argv.push_back(fmt::format("--partition={}", partition));
  for (const Json& option : settings.value("sbatch", Json::array()))
    argv.push_back(option.get<std::string>());
  argv.push_back((submission.folder / (batch.name + ".sh")).str());
  return argv;
}

/// Slurm's number of the job with this comment; nullopt: there is none. Asks until squeue answers, three
/// times at most. Errors: as Queue: without an answer nobody knows, and a second submission would build
/// twice.
Result<std::optional<std::string>> FindSubmitted(Env& env, const std::string& comment) {
  constexpr seconds kPause{2};
  for (int attempt = 1;; ++attempt) {
    PTPKG_CHECK(SleepUnlessCancelled(env.clock, kPause, env.cancel));
    const auto rows = Queue(env);
    if (!rows && attempt == kAttempts) return Error(rows.error());
    if (!rows) continue;
    const auto found =
        std::find_if(rows->begin(), rows->end(), [&](const auto& row) { return row.comment == comment; });
    return found == rows->end() ? std::optional<std::string>() : std::optional(found->job);
  }
}

/// The number in the answer "12" or "12;cluster" of sbatch --parsable; "": there is none.
std::string NumberIn(const std::string& output) {
  const std::vector<std::string> lines = SplitLines(std::string(Trim(output)));
  const std::string last = lines.empty() ? "" : Split(lines.back(), ';').front();
  const bool number = !last.empty() && last.find_first_not_of("0123456789") == std::string::npos;
  return number ? last : "";
}

/// True for an answer that says that the controller was not there.
bool IsPassing(const ExitStatus& status) {
  if (status.timed_out) return true;
  for (const char* text :
       {"Unable to contact", "Socket timed out", "Connection refused", "Zero Bytes", "temporarily"}) {
    if (status.output.find(text) != std::string::npos) return true;
  }
  return false;
}

Result<std::string> SubmitBatch(Env& env, const Submission& submission, const matrix::SlurmBatch& batch,
                                const std::vector<std::string>& argv) {
  std::optional<Error> failure;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    PTPKG_TRY(const ExitStatus status, Call(env, argv, VariablesOfSubmissions(env)));
    const std::string number = status.ok() ? NumberIn(status.output) : "";
    if (!number.empty()) return number;
    failure = CallFailed("sbatch", status);
    PTPKG_TRY(const std::optional<std::string> found, FindSubmitted(env, submission.CommentOf(batch.name)));
    if (found) return *found;
    if (!IsPassing(status)) break;
  }
  return std::move(*failure)
      .WithContext(fmt::format("while submitting '{}'", NameFor(submission.run, batch)))
      .WithHint(fmt::format(
          "withdraw the jobs that were submitted with 'ptpkg matrix cancel {0}', then continue with 'ptpkg "
          "matrix resume {0}'",
          submission.run.folder.str()));
}

Result<void> WriteBatch(Env& env, const Submission& submission, const matrix::SlurmBatch& batch) {
  std::string lines;
  for (const auto& [task, job] : batch.tasks)
    lines += fmt::format("{} {}\n", task, submission.run.graph.jobs[job].id);
  const AbsPath index = submission.folder / (batch.name + ".index");
  PTPKG_CHECK(WriteFile(env.fs, index, lines));
  return WriteFile(env.fs, submission.folder / (batch.name + ".sh"),
                   matrix::SlurmScript({.run = submission.run.folder,
                                        .index = index,
                                        .program = submission.program,
                                        .variables = submission.variables}));
}

/// Job id by batch and task, of the index files of all submissions; the key is "1/1-1/0".
Result<std::map<std::string, std::string>> IndexedJobs(Env& env, const matrix::Run& run) {
  constexpr std::string_view kEnding = ".index";
  std::map<std::string, std::string> jobs;
  const AbsPath all = run.folder / "slurm";
  PTPKG_TRY(const bool there, Exists(env.fs, all));
  if (!there) return jobs;
  PTPKG_TRY(const std::vector<std::string> submissions, env.fs.ListDir(all));
  for (const std::string& submission : submissions) {
    PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(all / submission));
    for (const std::string& name : names) {
      if (!name.ends_with(kEnding)) continue;
      PTPKG_TRY(const std::string text, ReadFile(env.fs, all / submission / name));
      for (const std::string& line : SplitLines(text)) {
        const std::size_t blank = line.find(' ');
        if (blank == std::string::npos) continue;
        jobs.emplace(fmt::format("{}/{}/{}", submission, name.substr(0, name.size() - kEnding.size()),
                                 line.substr(0, blank)),
                     line.substr(blank + 1));
      }
    }
  }
  return jobs;
}

/// True for a job that did not end well, and that the controller has forgotten.
bool IsUnexplained(const matrix::JobStatus& job) {
  using matrix::JobState;
  const bool ended =
      job.state == JobState::kFailed || job.state == JobState::kStopped || job.state == JobState::kLost;
  return ended && job.engine.state.empty() && !matrix::SlurmJobOf(job.worker).empty();
}

}  // namespace

Result<std::vector<matrix::SinfoRow>> CheckSlurm(Env& env, const matrix::Run& run,
                                                 const std::set<std::size_t>& jobs) {
  if (run.folder.str().find('\\') != std::string::npos) {
    return Error(ErrorCode::kUsage, fmt::format("'{}' has a backslash, which Slurm takes for its own in the "
                                                "name of a job's output",
                                                run.folder.str()))
        .WithHint("choose another directory with --run");
  }
  PTPKG_TRY(std::vector<matrix::SinfoRow> nodes, Nodes(env));
  PTPKG_CHECK(
      matrix::CheckCluster(run.graph, jobs, nodes, run.settings.engine_settings.value("partition", "")));
  return nodes;
}

Result<std::vector<AbsPath>> SubmitSlurm(Env& env, const matrix::Run& run, const std::set<std::size_t>& jobs,
                                         const std::vector<matrix::SinfoRow>& nodes,
                                         const std::string& program) {
  const std::vector<matrix::SlurmBatch> batches = matrix::SlurmBatches(run.graph, jobs, kMostTasks);
  PTPKG_TRY(auto folder, NewFolder(env, run));
  Submission submission{.run = run,
                        .number = folder.first,
                        .folder = folder.second,
                        .program = program,
                        .nodes = nodes,
                        .variables = VariablesOf(env, !run.settings.remote_cache.empty())};
  std::vector<AbsPath> files;
  for (const matrix::SlurmBatch& batch : batches) {
    PTPKG_CHECK(WriteBatch(env, submission, batch));
    files.push_back(submission.folder / (batch.name + ".sh"));
  }
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const std::vector<matrix::SlurmBatch> earlier(batches.begin(),
                                                  batches.begin() + static_cast<std::ptrdiff_t>(i));
    const std::string dependency = matrix::SlurmDependency(batches[i], earlier, submission.submitted);
    PTPKG_TRY(submission.submitted[batches[i].name],
              SubmitBatch(env, submission, batches[i], Arguments(submission, batches[i], dependency)));
  }
  return files;
}

Result<std::map<std::string, matrix::EngineJob>> AskSlurm(Env& env, const matrix::Run& run) {
  PTPKG_TRY(std::vector<matrix::SqueueRow> rows, Queue(env));
  PTPKG_TRY(const auto index, IndexedJobs(env, run));
  const std::string prefix = run.settings.key + "/";
  std::erase_if(rows, [&](const auto& row) { return !row.comment.starts_with(prefix); });
  // The last submission of a job counts, and Slurm numbers jobs in that order.
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::pair(a.job.size(), a.job) < std::pair(b.job.size(), b.job);
  });
  std::map<std::string, matrix::EngineJob> jobs;
  for (const matrix::SqueueRow& row : rows) {
    const auto job = index.find(fmt::format("{}/{}", row.comment.substr(prefix.size()), row.task));
    if (job == index.end()) continue;
    matrix::EngineJob& known = jobs[job->second];
    const bool live = matrix::IsLiveSlurmState(row.state);
    if (known.queued && !live) continue;
    known = {.queued = live,
             .id = fmt::format("{}_{}", row.job, row.task),
             .state = row.state,
             .reason = row.reason,
             .ended = live ? "" : matrix::WhySlurmEnded(run.folder, row.state, row.reason)};
  }
  return jobs;
}

void AskAccounting(Env& env, const matrix::Run& run, matrix::RunStatus& status) {
  std::string ids;
  for (const matrix::JobStatus& job : status.jobs) {
    if (IsUnexplained(job)) ids += (ids.empty() ? "" : ",") + matrix::SlurmJobOf(job.worker);
  }
  if (ids.empty()) return;
  const Result<std::string> text = Ask(env, {"sacct", "-n", "-X", "-P", "-o", "JobID,State", "-j", ids});
  if (!text) return;
  const std::map<std::string, std::string> states = matrix::ParseSacct(*text);
  for (matrix::JobStatus& job : status.jobs) {
    const auto state = states.find(matrix::SlurmJobOf(job.worker));
    if (!IsUnexplained(job) || state == states.end()) continue;
    job.engine.id = state->first;
    job.engine.state = state->second;
    matrix::AddEngineEnd(matrix::WhySlurmEnded(run.folder, state->second, ""), job);
  }
}

Result<void> CancelSlurm(Env& env, const matrix::Run& run) {
  PTPKG_TRY(const std::vector<matrix::SqueueRow> rows, Queue(env));
  std::vector<std::string> argv = {"scancel"};
  for (const matrix::SqueueRow& row : rows) {
    if (row.comment.starts_with(run.settings.key + "/") && matrix::IsLiveSlurmState(row.state))
      argv.push_back(fmt::format("{}_{}", row.job, row.task));
  }
  if (argv.size() == 1) return Ok();
  PTPKG_TRY(const ExitStatus status, Call(env, argv, VariablesOfClients(env)));
  if (!status.ok()) return CallFailed("scancel", status);
  return Ok();
}

}  // namespace ptpkg::pipeline
