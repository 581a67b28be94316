#include "pipeline/develop/dev.h"

#include <chrono>
#include <fmt/core.h>
#include <functional>

#include "builder/post_process.h"
#include "builder/script/script.h"
#include "builder/test/package_test.h"
#include "graph/executor.h"
#include "pipeline/develop/dev_prepare.h"
#include "pipeline/stages/pack_result.h"
#include "pipeline/stages/stages.h"

namespace ptpkg::pipeline {

namespace {

/// The input "tools" of the last run's plan, if the machine's tools are those of then as far as their files
/// tell.
Result<std::optional<std::string>> CachedTools(Env& env, const BuildRequest& request,
                                               const recipe::Recipe& recipe, const DevFolder& folder) {
  if (!folder.left() || folder.left()->tool_files.empty() || request.fresh)
    return std::optional<std::string>();
  PTPKG_TRY(const std::string stamp, DevToolFingerprint(env, request, recipe, folder.left()->tool_files));
  if (stamp != folder.left()->tool_stamp) return std::optional<std::string>();
  return std::optional(folder.left()->tools);
}

/// The script of this run; nullopt: the recipe has none.
Result<std::optional<builder::ScriptToRun>> ScriptOf(Env& env, const DevJob& job,
                                                     const PreparedDev& prepared) {
  const AbsPath& folder = prepared.layout.recipe_copy;
  // The incremental script can rely on what one whole run has left behind.
  if (prepared.state.ran_whole && HasIncrementalScript(job.recipe)) {
    const recipe::BuildScript& later = job.recipe.ptpkg.dev_script;
    PTPKG_TRY(std::string text, builder::ScriptText(env.fs, later, folder));
    return std::optional(builder::ScriptToRun{.interpreter = later.interpreter,
                                              .text = std::move(text),
                                              .whole = false,
                                              .env = later.env,
                                              .secrets = later.secrets});
  }
  const recipe::BuildScript& whole = job.inputs.native.recipe.script;
  PTPKG_TRY(std::optional<std::string> text, builder::BuildScriptText(env.fs, whole, folder));
  if (!text) return std::optional<builder::ScriptToRun>();
  return std::optional(builder::ScriptToRun{
      .interpreter = whole.interpreter, .text = *std::move(text), .env = {}, .secrets = whole.secrets});
}

/// Records that the script ended by itself. The phase stays kScript: a compiler that was killed makes a
/// script fail like any other. Returns the error of the run.
Error FailedScript(Env& env, Error error, PreparedDev prepared, DevFolder& folder) {
  if (error.code() != ErrorCode::kCommandFailed) return error;
  prepared.state.script_ended = true;
  const Result<void> saved = folder.Save(prepared.state);
  if (!saved) return saved.error();
  env.reporter.Note(fmt::format("kept work directory '{}'; rerun the same command to continue",
                                prepared.layout.source.str()));
  return error;
}

double SecondsSince(const Env& env, std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(env.clock.Now() - start).count();
}

struct ScriptOutcome {
  std::string name = {};  ///< DevSummary::script
  double seconds = 0;
};

Result<ScriptOutcome> RunScript(Env& env, const DevJob& job, const PreparedDev& prepared, DevFolder& folder) {
  PTPKG_TRY(const std::optional<builder::ScriptToRun> script, ScriptOf(env, job, prepared));
  ScriptOutcome outcome;
  if (script) {
    outcome.name = script->whole ? "build.script" : "extra.ptpkg.dev.script";
    PTPKG_CHECK(folder.SetPhase(builder::WorkPhase::kScript));
    const auto start = env.clock.Now();
    Result<void> ran =
        builder::RunScriptIn(env, DevBuildInput(job, prepared.layout, folder), prepared.state.place, *script);
    outcome.seconds = SecondsSince(env, start);
    if (!ran) return FailedScript(env, std::move(ran).error(), prepared, folder);
  }
  PTPKG_CHECK(builder::WriteEntryPoints(env, job.inputs.native.recipe, prepared.layout));
  DevState state = prepared.state;
  state.ran_whole = true;
  PTPKG_CHECK(folder.Save(state));
  PTPKG_CHECK(folder.SetPhase(builder::WorkPhase::kInstalled));
  return outcome;
}

struct TestOutcome {
  builder::PrefixTests tests = {};
  double seconds = 0;
};

Result<TestOutcome> RunTests(Env& env, const DevJob& job, const PreparedDev& prepared, DevFolder& folder) {
  TestOutcome outcome;
  if (!job.request.build.test || !builder::HasTests(job.recipe)) return outcome;
  PTPKG_TRY(const std::vector<RelPath> host_files, folder.ReadHostFiles());
  const auto start = env.clock.Now();
  PTPKG_TRY(outcome.tests, builder::TestPrefix(env, {.recipe = job.recipe,
                                                     .layout = prepared.layout,
                                                     .place = prepared.state.place,
                                                     .host_files = host_files,
                                                     .log_file = folder.root() / "test.log"}));
  outcome.seconds = SecondsSince(env, start);
  return outcome;
}

/// Extent of a run.
enum class DevExtent : std::uint8_t { kPrepare, kWhole };

/// Brings the directory up to date; runs the script and the tests. nullopt: the directory has to be made
/// anew, by a plan that has looked at the tools.
Result<std::optional<DevSummary>> RunDevNode(Env& env, const DevJob& job, DevExtent extent,
                                             DevFolder& folder) {
  PTPKG_TRY(std::optional<PreparedDev> prepared, PrepareDevFolder(env, job, folder));
  if (!prepared) return std::optional<DevSummary>();
  ScriptOutcome script;
  TestOutcome test;
  if (extent == DevExtent::kWhole) {
    PTPKG_TRY(script, RunScript(env, job, *prepared, folder));
    PTPKG_TRY(test, RunTests(env, job, *prepared, folder));
  }
  return std::optional(DevSummary{.subject = job.recipe.FileStem(),
                                  .layout = std::move(prepared->layout),
                                  .log = DevLogFile(folder),
                                  .anew = prepared->anew,
                                  .why_anew = std::move(prepared->why_anew),
                                  .copied = std::move(prepared->copied),
                                  .removed = std::move(prepared->removed),
                                  .script = std::move(script.name),
                                  .script_seconds = script.seconds,
                                  .test_seconds = test.seconds,
                                  .tests = std::move(test.tests)});
}

/// Runs `run` as the last node of `plan`.
Result<void> RunAsLastNode(Env& env, graph::Plan plan, const AbsPath& output,
                           const std::function<Result<void>(const graph::NodeRun&)>& run) {
  plan.nodes.back().stage = "dev";
  plan.nodes.back().version = 1;
  const auto in_node = [&](Env&, const graph::NodeRun& node) -> Result<graph::NodeResult> {
    PTPKG_CHECK(run(node));
    return graph::NodeResult();
  };
  graph::StageTable stages = MakeStages();
  stages.Add({.name = "dev", .parallel = true, .run = in_node});
  graph::Store cache(env, env.cache_dir / "stages");
  graph::Store staging(env, PendingRoot(env, output));
  graph::History history(env, env.cache_dir / "stages/records");
  PTPKG_TRY(const std::vector<graph::NodeOutcome> outcomes,
            graph::Execute(env, plan, stages, {.cache = cache, .staging = staging, .history = history}, {}));
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].error) continue;
    if (i + 1 == outcomes.size()) return Error(*outcomes[i].error);
    return Error(*outcomes[i].error).WithContext(fmt::format("in '{}'", plan.nodes[i].id));
  }
  return Ok();
}

Result<DevSummary> RunIn(Env& env, const NativeRequest& request, const NativeChoice& choice,
                         DevFolder& folder, DevExtent extent) {
  PTPKG_TRY(std::optional<std::string> tools, CachedTools(env, request.build, choice.recipe, folder));
  while (true) {
    PTPKG_TRY(NativePlan planned, PlanNative(env, request.build, choice.recipe, choice.rendered, tools));
    std::optional<DevSummary> summary;
    const auto run = [&](const graph::NodeRun& node) -> Result<void> {
      PTPKG_TRY(const DevInputs inputs, ReadDevInputs(env, planned.recipe, node));
      const DevJob job{request, planned.recipe, node, inputs, tools.has_value()};
      PTPKG_TRY(summary, RunDevNode(env, job, extent, folder));
      return Ok();
    };
    PTPKG_CHECK(RunAsLastNode(env, std::move(planned.plan), request.build.output, run));
    if (summary) return *std::move(summary);
    // The directory has to be made anew, which needs a plan with real tools. A second round always ends:
    // without cached tools, RunDevNode gives a summary or an error.
    tools.reset();
  }
}

}  // namespace

Result<DevSummary> Dev(Env& env, const NativeRequest& request) {
  PTPKG_TRY(const NativeChoice choice, ChooseNative(env, request));
  PTPKG_TRY(DevFolder folder, DevFolder::Take(env, choice.recipe));
  return RunIn(env, request, choice, folder, DevExtent::kWhole);
}

Result<DevWorkDir> PrepareDev(Env& env, const NativeRequest& request, const NativeChoice& choice) {
  PTPKG_TRY(DevFolder folder, DevFolder::Take(env, choice.recipe));
  PTPKG_TRY(const DevSummary summary, RunIn(env, request, choice, folder, DevExtent::kPrepare));
  return DevWorkDir{.folder = std::move(folder), .layout = summary.layout};
}

}  // namespace ptpkg::pipeline
