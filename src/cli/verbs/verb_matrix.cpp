// ptpkg matrix and run-node. Layer: cli. 'matrix' plans and hands jobs to an engine, and 'run-node' is the
// command that the engine runs on other machines. The words of 'matrix' are recipes, or an action and a run:
// the parser knows no commands inside of commands, and RunMatrix() tells them apart by the first word.

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <memory>
#include <set>

#include "cli/build_info.h"
#include "cli/output/findings.h"
#include "cli/output/job_table.h"
#include "cli/output/page_file.h"
#include "cli/verbs/recipe_flags.h"
#include "pipeline/matrix/hosted_run.h"
#include "pipeline/matrix/matrix.h"
#include "pipeline/matrix/run_job.h"
#include "pipeline/plan/run_plan.h"
#include "support/text/json_utf8.h"
#include "support/text/plural.h"

namespace ptpkg::cli {

namespace {

struct MatrixFlags {
  RecipeFlags recipe;  ///< `recipe.recipes`: recipes, or an action and its arguments.
  std::vector<std::string> formats;
  std::optional<std::string> run;
  std::optional<std::string> html;
  std::string test = "run";
  bool ccache = false;
  RemoteCacheFlags remote_cache;
  bool no_preflight = false;
  pipeline::MatrixRequest request;  ///< Fields that the parser fills itself.
  std::set<std::string> given;      ///< Long names of the options that the line has.
};

/// With the commit: two builds of one version can plan differently, and a job refuses the run of another
/// ptpkg.
std::string VersionOfRun() { return fmt::format("{} ({})", ThisBuild().version, ThisBuild().commit); }

/// Path of the running program.
Result<std::string> OwnPath(Context& context) {
  return context.env().fs.ReadLink(AbsPath::Literal("/proc/self/exe"));
}

void PrintStatus(Context& context, const pipeline::MatrixOutcome& outcome) {
  if (context.json()) return context.PrintJson(matrix::StatusToJson(outcome.run, outcome.status));
  for (const std::string& line : JobTable(outcome.status)) context.Print(line);
  context.Log(JobSummary(outcome.status));
}

/// The end of a run on this machine: its table, and an error unless all jobs passed.
Result<ExitCode> FinishLocal(Context& context, const pipeline::MatrixOutcome& outcome) {
  if (outcome.status.HasPassed()) {
    PrintStatus(context, outcome);
    return kDone;
  }
  if (context.json()) {
    // The document of 'status' beside the error: which jobs passed decides the next step.
    context.SetErrorDetails(matrix::StatusToJson(outcome.run, outcome.status));
  } else {
    PrintStatus(context, outcome);
  }
  // A job that was not started waited for another one, which is the cause.
  const auto failed =
      std::find_if(outcome.status.jobs.begin(), outcome.status.jobs.end(), [](const auto& job) {
        return job.state != matrix::JobState::kPassed && job.state != matrix::JobState::kNotStarted;
      });
  const std::string run = context.Shown(outcome.run.folder.str());
  Error error(ErrorCode::kCommandFailed, JobSummary(outcome.status));
  if (failed == outcome.status.jobs.end()) return error;
  return std::move(error)
      .WithContext(
          fmt::format("job '{}' {}: {}", failed->id, matrix::JobStateName(failed->state), failed->error))
      .WithHint(fmt::format(
          "read its log with 'ptpkg matrix logs {0} {1}', then continue with 'ptpkg matrix resume {0}'", run,
          failed->id));
}

/// Options that say something about this machine, where the jobs of the engine run on others.
Result<void> RefuseOptionsOfThisMachine(const Context& context, const MatrixFlags& flags) {
  const std::string& engine = flags.request.engine;
  const std::set<std::string>& common = context.flags().given;
  if (engine != "local" && common.contains("--jobs")) {
    return Error(ErrorCode::kUsage, fmt::format("--jobs applies to --on local, not to --on {}", engine))
        .WithHint("set 'cores' in extra.ptpkg.resources of the recipe");
  }
  if (engine != "github" || pipeline::PlansInWorkflow(context.env())) return Ok();
  for (const char* name : {"--output", "--cache-dir"}) {
    if (!flags.given.contains(name) && !common.contains(name)) continue;
    return Error(ErrorCode::kUsage, fmt::format("{} does not apply to --on github", name))
        .WithHint("leave it out: jobs keep 'dist' and 'cache' beside their checkout, and upload them");
  }
  return Ok();
}

/// A configuration file is for many lines: settings for another engine wait for a line with that engine.
void DropSettingsOfOtherEngines(const std::set<std::string>& given, pipeline::MatrixRequest& request) {
  const bool is_ci = pipeline::IsCi(request.engine);
  const bool is_kubernetes = request.engine == "kubernetes";
  const auto drops = [&](const char* option, bool applies) { return !applies && !given.contains(option); };
  if (drops("--partition", request.engine == "slurm")) request.partition.clear();
  if (drops("--sbatch", request.engine == "slurm")) request.engine_options.clear();
  if (drops("--volume", is_kubernetes)) request.volume.clear();
  if (drops("--image", is_ci || is_kubernetes)) request.image.clear();
  if (drops("--runner", is_ci)) request.labels.clear();
}

Result<pipeline::MatrixRequest> MatrixRequestOf(Context& context, const MatrixFlags& flags) {
  PTPKG_CHECK(RefuseOptionsOfThisMachine(context, flags));
  pipeline::MatrixRequest request = flags.request;
  DropSettingsOfOtherEngines(flags.given, request);
  PTPKG_TRY(request.build, RequestOf(context, flags.recipe));
  PTPKG_TRY(request.sources, SplitAssignments("--source", flags.recipe.sources));
  PTPKG_TRY(request.build.formats, ParseFormats(flags.formats));
  request.build.ccache = flags.ccache || context.IsSet("PTPKG_CCACHE");
  PTPKG_TRY(request.build.remote_cache, RemoteCacheOf(context, flags.remote_cache, flags.given));
  request.build.preflight = !flags.no_preflight;
  request.build.test = flags.test != "skip";
  PTPKG_TRY(request.run, ResolveFile(context, flags.run));
  // This file, and not the first ptpkg on a machine's PATH: a job refuses the run of another version.
  PTPKG_TRY(request.program, OwnPath(context));
  request.version = VersionOfRun();
  return request;
}

void PrintDryRun(Context& context, const pipeline::MatrixOutcome& outcome) {
  if (context.json()) return context.PrintJson({{"jobs", matrix::JobsToJson(outcome.run.graph)}});
  for (const auto& job : outcome.run.graph.jobs) {
    std::vector<std::string> needs;
    for (const std::size_t need : job.needs) needs.push_back(outcome.run.graph.jobs[need].id);
    context.Print(fmt::format("{}  {}, {}{}{}", job.id, Plural(job.nodes.size(), "node"),
                              Plural(job.resources.cores, "core"), needs.empty() ? "" : ", after ",
                              FirstNames(needs, 3)));
  }
}

Result<ExitCode> Start(Context& context, const MatrixFlags& flags) {
  if (flags.html) {
    return Error(ErrorCode::kUsage, "--html applies to a run that exists")
        .WithHint("ptpkg matrix status RUN --html FILE");
  }
  PTPKG_TRY(const pipeline::MatrixRequest request, MatrixRequestOf(context, flags));
  PTPKG_TRY(const pipeline::MatrixOutcome outcome, pipeline::StartMatrix(context.env(), request));
  for (const std::string& skipped : outcome.skipped)
    context.env().reporter.Note(fmt::format("skipped '{}': its recipe skips this variant", skipped));
  if (request.dry_run) {
    PrintDryRun(context, outcome);
    return kDone;
  }
  // The only engine whose jobs have ended here. All others go on, or have not begun.
  if (request.engine == "local") return FinishLocal(context, outcome);
  if (context.json()) {
    PrintStatus(context, outcome);
    return kDone;
  }
  // Files are the result of engines that run elsewhere, so they go to stdout.
  for (const AbsPath& file : outcome.files) context.Print(context.Shown(file.str()));
  context.Log(fmt::format("{} in '{}'", Plural(outcome.run.graph.jobs.size(), "job"),
                          context.Shown(outcome.run.folder.str())));
  return kDone;
}

// A recipe in a directory of such a name is given as './status'.
constexpr std::array<std::string_view, 4> kActions = {"status", "logs", "cancel", "resume"};

/// An option that an action would not read.
Result<void> RefuseRunOptions(const Context& context, const MatrixFlags& flags, const std::string& action) {
  std::set<std::string> given = flags.given;
  for (const char* common : {"--cache-dir", "--jobs"}) {
    if (context.flags().given.contains(common)) given.insert(common);
  }
  for (const std::string& name : given) {
    if (!name.starts_with('-')) continue;  // the words: the action and its run
    // The one option that is about a run and not about its start.
    if (action == "status" && name == "--html") continue;
    if (action == "resume" && name == "--jobs") continue;
    return Error(ErrorCode::kUsage, fmt::format("'ptpkg matrix {}' does not take {}", action, name))
        .WithHint("the run has its settings since it was started");
  }
  return Ok();
}

Result<ExitCode> Act(Context& context, const MatrixFlags& flags) {
  const std::vector<std::string>& words = flags.recipe.recipes;
  const std::string& action = words.front();
  PTPKG_CHECK(RefuseRunOptions(context, flags, action));
  // The parser has one list for recipes and for the words of an action, so their number is checked here.
  const std::size_t expected = action == "logs" ? 3 : 2;
  if (words.size() != expected) {
    return Error(ErrorCode::kUsage, fmt::format("'ptpkg matrix {}' takes {}", action,
                                                action == "logs" ? "a run and a job" : "one run"))
        .WithHint(fmt::format("ptpkg matrix {} RUN{}", action, action == "logs" ? " JOB" : ""));
  }
  pipeline::RunRequest request{.version = VersionOfRun(),
                               .has_jobs = context.flags().given.contains("--jobs")};
  PTPKG_TRY(request.run, context.Path(words[1]));
  PTPKG_TRY(request.program, OwnPath(context));
  if (action == "logs") {
    PTPKG_TRY(const std::string log, pipeline::MatrixLog(context.env(), request, words[2]));
    if (context.json()) {
      context.PrintJson({{"job", words[2]}, {"log", log}});
    } else {
      // A log can end with several line breaks or with none, and Print adds one.
      context.Print(std::string_view(log).substr(0, log.find_last_not_of('\n') + 1));
    }
    return kDone;
  }
  if (action == "resume") {
    PTPKG_TRY(const pipeline::MatrixOutcome outcome, pipeline::ResumeMatrix(context.env(), request));
    // As after the first start: 'local' returns when its jobs have ended, so a failed job is an error here.
    if (outcome.run.settings.engine == "local") return FinishLocal(context, outcome);
    PrintStatus(context, outcome);
    return kDone;
  }
  PTPKG_TRY(const std::optional<AbsPath> page, PageFile(context, flags.html));
  PTPKG_TRY(const pipeline::MatrixOutcome outcome, action == "cancel"
                                                       ? pipeline::CancelMatrix(context.env(), request)
                                                       : pipeline::MatrixStatus(context.env(), request));
  // Before the result: see RunInspect().
  PTPKG_CHECK(WritePage(context, page, matrix::StatusToJson(outcome.run, outcome.status)));
  PrintStatus(context, outcome);
  return kDone;
}

Result<ExitCode> RunMatrix(Context& context, const MatrixFlags& flags) {
  const std::string& first = flags.recipe.recipes.front();
  const bool is_action = std::find(kActions.begin(), kActions.end(), first) != kActions.end();
  return is_action ? Act(context, flags) : Start(context, flags);
}

std::vector<Option> MatrixOptions(MatrixFlags& flags) {
  pipeline::MatrixRequest& request = flags.request;
  std::vector<Option> options = {
      {.names = "RECIPE",
       .help = "Recipes, or an action and a run: see below",
       .target = &flags.recipe.recipes},
      {.names = "--on",
       .help = "Run the jobs on this engine, or write its files",
       .target = &request.engine,
       .choices = pipeline::MatrixEngines(),
       .default_text = "local"},
      {.names = "--run",
       .value = "DIR",
       .help = "Share DIR among the machines of this run",
       .target = &flags.run,
       .default_text = "a new matrix-…"},
      {.names = "--lease",
       .value = "SECONDS",
       .help = "Replace an attempt without progress for SECONDS",
       .target = Number{.value = &request.lease_seconds, .least = 2, .most = 86400},
       .default_text = "120"},
      {.names = "--partition",
       .value = "NAME",
       .help = "Submit to this partition of Slurm",
       .target = &request.partition,
       .default_text = "the cluster's"},
      {.names = "--sbatch",
       .value = "OPTION",
       .help = "Pass OPTION to sbatch; may be repeated",
       .target = &request.engine_options},
      {.names = "--image",
       .value = "IMAGE",
       .help = "Run the jobs of CI and Kubernetes in this image",
       .target = &request.image},
      {.names = "--runner",
       .value = "LABELS",
       .help = "Run CI jobs on runners with these labels; may be repeated",
       .target = &request.labels},
      {.names = "--volume",
       .value = "CLAIM:PATH",
       .help = "Mount this volume of Kubernetes in each job",
       .target = &request.volume},
      HtmlOption(flags.html, "timeline, critical path, cache hits"),
      {.names = "--dry-run", .help = "Show the jobs; start and write nothing", .target = &request.dry_run}};
  std::vector<Option> recipe =
      RecipeOptions(flags.recipe, "Write artifacts, index, logs and manifest to DIR");
  std::vector<Option> own = {FormatOption(flags.formats), TestOption(flags.test), CcacheOption(flags.ccache),
                             NoPreflightOption(flags.no_preflight)};
  std::move(recipe.begin(), recipe.end(), std::back_inserter(options));
  std::vector<Option> remote = RemoteCacheOptions(flags.remote_cache);
  std::move(own.begin(), own.end(), std::back_inserter(options));
  std::move(remote.begin(), remote.end(), std::back_inserter(options));
  return options;
}

struct RunNodeFlags {
  std::string plan;
  std::string node;
  bool offline = false;
};

Result<ExitCode> RunNode(Context& context, const RunNodeFlags& flags) {
  PTPKG_TRY(const AbsPath file, context.Path(flags.plan));
  if (flags.offline) context.env().offline = true;
  // Scripts of schedulers call one verb for both: a plan is a file, a run is a directory.
  PTPKG_TRY(const bool is_run, pipeline::IsRunFolder(context.env(), file));
  pipeline::BuildSummary summary;
  if (is_run) {
    PTPKG_TRY(pipeline::JobOutcome outcome,
              pipeline::RunJob(context.env(), {.run = file, .job = flags.node, .version = VersionOfRun()}));
    summary = std::move(outcome.summary);
  } else {
    // A plan has no records, so no attempt is counted and no lease held.
    PTPKG_TRY(summary, pipeline::RunNode(context.env(), file, flags.node));
  }
  Json stages = Json::array();
  for (const StageTime& stage : summary.stages) stages.push_back(StageTimeToJson(stage));
  if (context.json()) {
    context.PrintJson({{"stages", stages}, {"findings", FindingsToJson(summary.reports)}});
    return kDone;
  }
  PrintFindings(context, summary.reports);
  for (const StageTime& stage : summary.stages)
    context.Print(fmt::format("{}/{}: {}", stage.stage, stage.subject, stage.ran ? "ran" : "cached"));
  return kDone;
}

}  // namespace

Verb MatrixVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<MatrixFlags>();
  return {.name = "matrix",
          .summary = "Build all variants of recipes on a cluster or a CI service",
          .known_as = {"slurm", "cluster", "submit"},
          .options = MatrixOptions(*flags),
          .notes =
              "A job is one build with its packing, checks, tests and publication. All machines share the "
              "directory of "
              "the run, the cache and the output directory.\n"
              "\n"
              "Actions on a run:\n"
              "  status RUN    Show its jobs\n"
              "  logs RUN JOB  Print the output of a job\n"
              "  cancel RUN    Stop its jobs\n"
              "  resume RUN    Run again what has not passed",
          .examples = {"ptpkg matrix fixtures/toymagma fixtures/toytorch --run run",
                       "ptpkg matrix recipes/magma --on slurm --partition build --sbatch=--account=ml",
                       "ptpkg matrix status run", "ptpkg matrix logs run toymagma-cpu-2.9.0-1"},
          .run = [flags](Context& context) { return RunMatrix(context, *flags); },
          .given = &flags->given};
}

Verb RunNodeVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<RunNodeFlags>();
  return {.name = "run-node",
          .summary = "Run one node of a plan, or one job of a matrix run",
          .options = {{.names = "PLAN",
                       .help = "Output of 'ptpkg build … --plan --json', or a run",
                       .target = &flags->plan},
                      {.names = "ID",
                       .help = "A node's 'id' in the plan, or a job of the run",
                       .target = &flags->node},
                      OfflineOption(flags->offline)},
          .notes =
              "A job of a run compares the results that it reads with the records of the jobs that made "
              "them, before "
              "anything compiles. Exit codes 6, 8, 129, 130 and 143 mean that something outside stopped it; "
              "any other "
              "failure would happen again.",
          .examples = {"ptpkg build fixtures/toymagma --plan --json > plan.json",
                       "ptpkg run-node plan.json build/toymagma-cpu-2.9.0-1",
                       "ptpkg run-node run toymagma-cpu-2.9.0-1"},
          .run = [flags](Context& context) { return RunNode(context, *flags); }};
}

}  // namespace ptpkg::cli
