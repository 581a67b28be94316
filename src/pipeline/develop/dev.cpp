#include "pipeline/develop/dev.h"

#include <algorithm>
#include <chrono>
#include <fmt/core.h>
#include <set>

#include "builder/post_process.h"
#include "builder/resume/partial_outputs.h"
#include "builder/resume/resume.h"
#include "builder/script/failed_commands.h"
#include "builder/script/script.h"
#include "builder/tools/tool_fingerprint.h"
#include "graph/executor.h"
#include "pipeline/develop/dev_sources.h"
#include "pipeline/plan/build_analysis.h"
#include "pipeline/plan/plan_sources.h"
#include "pipeline/stages/build_folder.h"
#include "pipeline/stages/pack_result.h"
#include "pipeline/stages/package_inputs.h"
#include "pipeline/stages/stages.h"
#include "pipeline/stages/staging_inputs.h"
#include "publish/output/output_folder.h"
#include "recipe/recipe_codec.h"
#include "source/walk.h"
#include "support/digest/hash.h"
#include "support/files/scratch.h"
#include "support/text/json.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

using builder::WorkPhase;

/// Inputs of the build script alone: it runs again, whole, when one has another digest.
bool IsOfScript(std::string_view input) { return input == "script" || input == "recipe.script"; }

/// Inputs of a build node that a directory outlives: sources and scripts are taken anew in each run, and what
/// is read after the script makes no package here.
bool IsRefreshedEachRun(std::string_view input) {
  return input == "source" || input.starts_with("recipe folder") || IsOfScript(input) ||
         IsReadAfterScript(input);
}

/// "'tools', 'recipe.requirements'": what differs.
std::string Differences(const std::map<std::string, std::string>& before,
                        const std::map<std::string, std::string>& now) {
  std::vector<std::string> names;
  for (const auto& [name, digest] : now) {
    const auto found = before.find(name);
    if (found == before.end() || found->second != digest) names.push_back("'" + name + "'");
  }
  for (const auto& [name, digest] : before) {
    if (!now.contains(name)) names.push_back("'" + name + "'");
  }
  return Join(names, ", ");
}

Result<std::string> DevToolFingerprint(Env& env, const BuildRequest& request, const recipe::Recipe& recipe,
                                       const std::vector<std::string>& files) {
  return builder::ToolFingerprint(env, recipe, {.host_env = request.host_env, .options = request.tools},
                                  files);
}

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

/// Puts a record of the directory into `into`. Returns why nothing can go on with it, or "". Errors: kIo.
template <class T>
Result<std::string> TakeRecord(Result<T> read, T& into) {
  if (!read && read.error().code() == ErrorCode::kIo) return std::move(read).error();
  if (!read) return read.error().message();
  into = *std::move(read);
  return std::string();
}

/// One run in the directory, as the last node of a plan.
class DevRun {
 public:
  /// `knows_tools`: the plan takes them on trust, which is enough to go on, and not to make the directory.
  DevRun(Env& env, const NativeRequest& request, const recipe::Recipe& recipe, DevFolder& folder,
         bool knows_tools)
      : env_(env), request_(request), recipe_(recipe), folder_(folder), knows_tools_(knows_tools) {
    summary_.subject = recipe.FileStem();
    summary_.log = folder.root() / "build.log";
  }

  /// Everything before the script.
  Result<void> Prepare(const graph::NodeRun& run) {
    PTPKG_TRY(const Json encoded, run.Input("recipe"));
    PTPKG_TRY(native_, recipe::DecodeNativeBuild(encoded, run.subject()));
    PTPKG_TRY(native_.recipe.recipe_dir, run.Place("recipe"));
    PTPKG_TRY(recipe_folder_, ReadRecipeFolder(env_, run));
    const auto given = run.Place("source");
    recipe::Recipe with_sources = recipe_;
    PTPKG_TRY(with_sources.sources, ReadSources(run));
    PTPKG_TRY(sources_, SplitSources(env_, with_sources, given ? std::optional(*given) : std::nullopt,
                                     ReadSourceExclusions(run)));
    PTPKG_TRY(now_.source_stamp, FixedFingerprint(env_, sources_));
    TakeInputs(run);
    PTPKG_CHECK(env_.fs.MakeDirs(folder_.path()));
    PTPKG_TRY(summary_.layout, builder::MakeWorkLayout(env_, folder_.path()));
    PTPKG_CHECK(builder::WaitForEarlierScript(env_, summary_.layout));
    PTPKG_CHECK(RemoveTree(env_.fs, summary_.log), "while replacing the log of the last run");
    PTPKG_TRY(std::string why, RestartReason());
    if (folder_.left() && why.empty()) {
      PTPKG_TRY(why, TryResume(run));
    }
    if (folder_.left() && why.empty()) return Ok();
    wants_whole_plan_ = knows_tools_;
    if (wants_whole_plan_) return Ok();
    if (folder_.left() || !folder_.damage().empty()) {
      summary_.why_anew = why;
      env_.reporter.Note(fmt::format("'{}' starts over: {}", summary_.subject, why));
    }
    summary_.anew = true;
    return RebuildAll(run);
  }

  Result<void> RunScript() {
    PTPKG_TRY(const std::optional<builder::ScriptToRun> script, ScriptOf());
    if (script) {
      summary_.script = script->whole ? "build.script" : "extra.ptpkg.dev.script";
      PTPKG_CHECK(folder_.SetPhase(WorkPhase::kScript));
      const auto start = env_.clock.Now();
      Result<void> ran = builder::RunScriptIn(env_, Input(), now_.place, *script);
      summary_.script_seconds = SecondsSince(start);
      if (!ran) return Failed(std::move(ran).error());
    }
    PTPKG_CHECK(builder::WriteEntryPoints(env_, native_.recipe, summary_.layout));
    now_.ran_whole = true;
    PTPKG_CHECK(folder_.Save(now_));
    return folder_.SetPhase(WorkPhase::kInstalled);
  }

  Result<void> RunTests() {
    if (!request_.build.test || !builder::HasTests(recipe_)) return Ok();
    PTPKG_TRY(const std::vector<RelPath> host_files, folder_.ReadHostFiles());
    const auto start = env_.clock.Now();
    PTPKG_TRY(summary_.tests, builder::TestPrefix(env_, {.recipe = recipe_,
                                                         .layout = summary_.layout,
                                                         .place = now_.place,
                                                         .host_files = host_files,
                                                         .log_file = folder_.root() / "test.log"}));
    summary_.test_seconds = SecondsSince(start);
    return Ok();
  }

  /// Prepare has come to nothing: run it again by a plan that has looked at the tools.
  [[nodiscard]] bool wants_whole_plan() const { return wants_whole_plan_; }
  [[nodiscard]] const DevSummary& summary() const { return summary_; }

 private:
  void TakeInputs(const graph::NodeRun& run) {
    for (const auto& [name, digest] : run.digests()) {
      if (!IsRefreshedEachRun(name)) now_.inputs.emplace(name, digest);
      if (IsOfScript(name)) now_.scripts.emplace(name, digest);
    }
    now_.scripts["recipe folder"] = DigestOfFiles();
    now_.inputs["build.script.env"] = HashText(Json(native_.recipe.script.env).dump()).Hex();
    std::string below;
    for (const builder::SyncOrigin& origin : sources_.synchronised) {
      below += origin.below + "\n";
      now_.origins += origin.folder.str() + "\n";
    }
    now_.inputs["source.target_directory"] = HashText(below).Hex();
  }

  /// Digest of the files that the build script may read in RECIPE_DIR.
  [[nodiscard]] std::string DigestOfFiles() const {
    KeyHasher hasher;
    const std::string& other = recipe_.ptpkg.dev_script.file;  // may lack its ".sh"
    for (const TreeEntry& file : recipe_folder_.tree.entries) {
      if (file.path.str() == other || file.path.str() == other + ".sh") continue;
      hasher.Add(file.path.str(), fmt::format("{} {} {}", file.mode, file.sha256.Hex(), file.link_target));
    }
    return hasher.Finish().Hex();
  }

  /// "" if the directory can be gone on with, as far as that can be seen without looking into it.
  Result<std::string> RestartReason() {
    if (!folder_.damage().empty()) return folder_.damage();
    if (!folder_.left()) return std::string();
    const DevState& left = *folder_.left();
    if (request_.build.fresh) return std::string("--fresh");
    const std::string changed = Differences(left.inputs, now_.inputs);
    if (!changed.empty()) return changed + " changed" + StagingHint(left);
    if (folder_.phase() == WorkPhase::kScript && folder_.is_other_boot() && !left.script_ended) {
      return std::string("the machine went down while the script ran");
    }
    now_.source_key = left.source_key;
    if (left.source_stamp == now_.source_stamp) return std::string();
    PTPKG_TRY(now_.source_key, FixedKey(env_, sources_));
    if (now_.source_key == left.source_key) return std::string();
    return std::string("a source that is patched, unpacked or from git changed, and cannot be synchronised");
  }

  /// Hint about an edit that made the staging output anew, if one did.
  [[nodiscard]] std::string StagingHint(const DevState& left) const {
    const auto before = left.inputs.find("staging");
    const auto now = now_.inputs.find("staging");
    if (before == left.inputs.end() || now == now_.inputs.end() || before->second == now->second) return "";
    return fmt::format(" (use --name {1} for faster edits of '{0}')", recipe_.inherited->name,
                       recipe_.inherited->name);
  }

  /// Goes on in what the last run left. Returns why it cannot, or "".
  Result<std::string> TryResume(const graph::NodeRun& run) {
    const DevState left = *folder_.left();
    now_.place = left.place;
    now_.ran_whole = left.ran_whole && left.scripts == now_.scripts;
    if (knows_tools_) {
      now_.tools = left.tools;
      now_.tool_stamp = left.tool_stamp;
      now_.tool_files = left.tool_files;
    } else {
      PTPKG_TRY([[maybe_unused]] const builder::HostPlan host, ResolveTools(run));
    }
    const builder::WorkLayout& layout = summary_.layout;
    PTPKG_CHECK(RemoveAbandoned(env_, folder_.root()));
    PTPKG_TRY(const bool there, Exists(env_.fs, layout.source));
    if (!there) return std::string("its sources are missing");
    builder::SyncRecord record;
    PTPKG_TRY(std::string why, TakeRecord(builder::SyncRecord::Read(env_, SyncFile()), record));
    if (!why.empty()) return why;
    PTPKG_TRY(why, TakeRecord(builder::SourceRecord::Read(env_, FixedFile()), fixed_));
    if (!why.empty()) return why;
    PTPKG_TRY(why, RestoreScriptState(record));
    if (!why.empty()) return why;
    if (left.origins != now_.origins) {
      record.RereadAllSources();
      PTPKG_CHECK(record.Write(env_.fs, SyncFile()));  // before the new origins are
    }
    PTPKG_CHECK(Synchronise(record));
    if (!recipe_.ptpkg.resume && !(now_.ran_whole && HasIncrementalScript())) {
      return std::string("its script cannot run twice in one directory (extra.ptpkg.resume: false)");
    }
    PTPKG_CHECK(RemoveTree(env_.fs, layout.recipe_copy));
    PTPKG_CHECK(builder::CopyRecipeFolder(env_, recipe_folder_, layout.recipe_copy),
                "while copying the recipe's files");
    PTPKG_CHECK(folder_.Save(now_));
    PTPKG_CHECK(folder_.SetPhase(WorkPhase::kPrepared));
    return std::string();
  }

  Result<void> Synchronise(builder::SyncRecord& record) {
    builder::SyncRequest sync = SyncOf();
    if (!recipe_.inherited) {  // whose files give way
      sync.is_taken = [this](const RelPath& path) { return fixed_.Holds(path); };
    }
    // Before the copy is touched: a run that is cut off then must not forget it.
    sync.before_other_files = [this] {
      now_.ran_whole = false;
      return folder_.Save(now_);
    };
    PTPKG_TRY(builder::SyncOutcome outcome, builder::SyncSources(env_, sync, record));
    summary_.copied = std::move(outcome.copied);
    summary_.removed = std::move(outcome.removed);
    return RemoveTree(env_.fs, builder::ShellRecordFile(folder_.root()));
  }

  /// Undoes changes by other hands, a script that was cut off or a power cut. Distrusts of `record`
  /// what has to be copied again. Returns why nobody can tell what to do, or "".
  Result<std::string> RestoreScriptState(builder::SyncRecord& record) {
    PTPKG_TRY(std::string why, RevertScriptEdits(record));
    if (!why.empty()) return why;
    const bool script = folder_.phase() == WorkPhase::kScript;
    // If the machine's runs cannot be told apart, a power cut is considered after a script alone.
    const bool machine = folder_.is_other_boot() && (script || !builder::BootId(env_.fs).empty());
    if (!script && !machine) return std::string();
    return RemovePartialOutputs(record,
                                machine ? builder::RunEndKind::kMachine : builder::RunEndKind::kProcesses);
  }

  /// Reverts sources that a person has changed in `ptpkg shell`.
  Result<std::string> RevertScriptEdits(builder::SyncRecord& record) {
    auto read = builder::SourceRecord::Read(env_, builder::ShellRecordFile(folder_.root()));
    if (!read && read.error().code() == ErrorCode::kNotFound) return std::string();
    builder::SourceRecord entered;
    PTPKG_TRY(const std::string why, TakeRecord(std::move(read), entered));
    if (!why.empty()) return why;
    const AbsPath& root = summary_.layout.source;
    PTPKG_TRY(const std::vector<source::WalkEntry> files, source::Walk(env_, root));
    PTPKG_TRY(const auto changes, entered.Changes(env_, root, files));
    std::vector<RelPath> edited;
    for (const auto& [path, state] : changes) {
      const auto found = record.files.find(path);
      if (found == record.files.end()) {
        if (!fixed_.Holds(path)) continue;  // the build's
        return fmt::format("'{}', from a source that is patched, unpacked or from git, was changed by hand",
                           path.str());
      }
      if (builder::SourceRecord::StateOf(found->second.digest, found->second.executable) == state) continue;
      record.Distrust(path);
      edited.push_back(path);
    }
    if (!edited.empty()) {
      env_.reporter.Warn(
          fmt::format("restored from the sources because they were changed in the directory of 'ptpkg dev': "
                      "{}. Edit the sources instead",
                      FirstNames(PathTexts(edited), kMostShown)));
    }
    return std::string();
  }

  /// Removes files that were being written when the script or the machine was stopped.
  Result<std::string> RemovePartialOutputs(builder::SyncRecord& record, builder::RunEndKind end) {
    // A script that failed by itself was writing nothing when it ended.
    const bool cut_off = end == builder::RunEndKind::kMachine || !folder_.left()->script_ended;
    if (cut_off && recipe_.inherited) {
      return std::string("its script was interrupted, and its output is mixed with the inherited files");
    }
    const AbsPath& root = summary_.layout.source;
    PTPKG_TRY(std::vector<source::WalkEntry> files, source::Walk(env_, root));
    const std::chrono::nanoseconds window =
        end == builder::RunEndKind::kMachine ? builder::kMachineWindow : builder::kProcessesWindow;
    PTPKG_TRY(const builder::FailedCommands failed,
              builder::ReadFailedCommands(env_.fs, builder::FailedCommandsFile(summary_.layout)));
    std::int64_t last = NewestMtime(files);
    if (failed.first_ns) last = std::min(last, *failed.first_ns);
    const std::int64_t since = last - window.count();
    // Sources keep their times when they are first copied, and so do not tell that they may be lost.
    if (end == builder::RunEndKind::kMachine && since < folder_.prepared_ns()) {
      return std::string("the machine went down soon after it was created");
    }
    PTPKG_TRY(const std::size_t copied_again,
              builder::DistrustFilesWrittenSince(env_, root, files, since, record));
    if (copied_again > 0) now_.ran_whole = false;  // it may have patched them
    std::erase_if(files, [&](const source::WalkEntry& file) { return record.files.contains(file.path); });
    builder::SourceRecord sources;
    PTPKG_TRY(const std::string why,
              TakeRecord(builder::SourceRecord::Read(env_, folder_.root() / "sources"), sources));
    if (!why.empty()) return why;
    PTPKG_TRY(const builder::PartialOutputs cut,
              builder::FindPartialOutputs(env_, root, files, sources, {end, failed}));
    if (!cut.sources.empty()) {
      return fmt::format("'{}' of its sources was being changed", cut.sources.front().str());
    }
    for (const RelPath& path : cut.outputs) PTPKG_CHECK(env_.fs.Remove(root / path));
    // Files copied with their source's times do not show when they were written; a power cut may lose them.
    const std::int64_t installed_since = end == builder::RunEndKind::kMachine ? 0 : since;
    PTPKG_CHECK(RemoveInstalled(cut_off ? std::optional(installed_since) : std::nullopt, failed));
    return std::string();
  }

  /// Removes what scripts have installed at `since` or later, and what is half-written there for sure; the
  /// whole script then installs it anew.
  Result<void> RemoveInstalled(std::optional<std::int64_t> since, const builder::FailedCommands& failed) {
    const AbsPath& prefix = summary_.layout.prefix;
    PTPKG_TRY(const std::vector<RelPath> of_host, folder_.ReadHostFiles());
    const std::set<RelPath> kept(of_host.begin(), of_host.end());
    PTPKG_TRY(const std::vector<source::WalkEntry> files, source::Walk(env_, prefix));
    for (const source::WalkEntry& file : files) {
      const bool late = since && file.stat.mtime_ns >= *since;
      // A relative one is in the build: what is called so here was installed from there, whole.
      const bool half = late || failed.targets.contains((prefix / file.path).str());
      if (!half || kept.contains(file.path)) continue;
      PTPKG_CHECK(env_.cancel.Check());
      PTPKG_CHECK(env_.fs.Remove(prefix / file.path));
      now_.ran_whole = false;
    }
    return Ok();
  }

  /// The newest of `files`, but for times in the future, which say nothing.
  [[nodiscard]] std::int64_t NewestMtime(const std::vector<source::WalkEntry>& files) const {
    const std::int64_t now = builder::NowNs(env_);
    std::int64_t last = 0;
    for (const source::WalkEntry& file : files) {
      if (file.stat.mtime_ns <= now) last = std::max(last, file.stat.mtime_ns);
    }
    return last;
  }

  [[nodiscard]] AbsPath SyncFile() const { return folder_.root() / "synchronised"; }
  /// Holds fixed_.
  [[nodiscard]] AbsPath FixedFile() const { return folder_.root() / "fixed"; }

  [[nodiscard]] builder::SyncRequest SyncOf() const {
    return {.origins = sources_.synchronised, .copy = summary_.layout.source, .record_file = SyncFile()};
  }

  /// The tools, and what a later run has to look at to know that they are the same.
  Result<builder::HostPlan> ResolveTools(const graph::NodeRun& run) {
    PTPKG_TRY(const builder::HostRequest request, ReadHostRequest(run));
    PTPKG_TRY(builder::HostPlan host, builder::CheckTools(env_, native_.recipe, request));
    PTPKG_CHECK(CheckToolsUnchanged(env_, run, host));
    PTPKG_TRY(now_.tools, run.Text("tools"));
    now_.tool_files = builder::FingerprintedFiles(env_, host);
    PTPKG_TRY(now_.tool_stamp, DevToolFingerprint(env_, request_.build, recipe_, now_.tool_files));
    return host;
  }

  Result<void> RebuildAll(const graph::NodeRun& run) {
    // A refusal leaves the content of the directory untouched.
    PTPKG_CHECK(PreflightBuilds(env_, {run}));
    PTPKG_TRY(std::vector<builder::LocalPackage> packages, ReadPackages(env_, run));
    PTPKG_TRY(builder::HostPlan host, ResolveTools(run));
    PTPKG_TRY(const InheritedStaging inheritance, ReadInheritedStaging(run));
    PTPKG_CHECK(folder_.StartOver());
    now_.ran_whole = false;
    PTPKG_TRY(summary_.layout, builder::MakeWorkLayout(env_, folder_.path()));
    PTPKG_TRY(const Sha256 copied,
              MakeSources(env_, sources_.fixed, sources_.options, {inheritance, summary_.layout}));
    now_.source_key = sources_.HasFixed() ? copied.Hex() : "";
    PTPKG_TRY(const bool there, Exists(env_.fs, summary_.layout.source));
    if (!there) PTPKG_CHECK(env_.fs.MakeDirs(summary_.layout.source));
    PTPKG_TRY(fixed_, builder::SourceRecord::Take(env_, summary_.layout.source));
    PTPKG_CHECK(fixed_.Write(env_.fs, FixedFile()));
    builder::SyncRecord record;
    builder::SyncRequest sync = SyncOf();
    sync.first = true;
    sync.replaces = inheritance.archives.has_value();
    PTPKG_TRY([[maybe_unused]] const builder::SyncOutcome all, builder::SyncSources(env_, sync, record));
    PTPKG_TRY(const builder::SourceRecord sources, builder::SourceRecord::Take(env_, summary_.layout.source));
    PTPKG_CHECK(sources.Write(env_.fs, folder_.root() / "sources"));

    builder::BuildInput input = Input();
    input.packages = std::move(packages);
    input.unpack = UnpackInto;
    input.host = std::move(host);
    input.mentioned = native_.mentioned;
    input.recipe_folder = recipe_folder_;
    input.inherited = inheritance.archives;
    PTPKG_TRY(builder::MadePrefix made, builder::MakePrefix(env_, input));
    now_.place = std::move(made.place);
    PTPKG_CHECK(folder_.SaveHostFiles(made.host_files));
    PTPKG_CHECK(folder_.Save(now_));
    return folder_.SetPhase(WorkPhase::kPrepared);
  }

  [[nodiscard]] builder::BuildInput Input() const {
    return {.recipe = native_.recipe,
            .subject = summary_.subject,
            .source_root = summary_.layout.source,
            .packages = {},
            .unpack = {},
            .layout = summary_.layout,
            .log_file = summary_.log,
            .memory_per_job = recipe_.ptpkg.memory_per_job};
  }

  [[nodiscard]] bool HasIncrementalScript() const {
    const recipe::BuildScript& later = recipe_.ptpkg.dev_script;
    return !(later.lines.empty() && later.file.empty());
  }

  /// nullopt: the recipe has none.
  Result<std::optional<builder::ScriptToRun>> ScriptOf() {
    const recipe::BuildScript& later = recipe_.ptpkg.dev_script;
    const AbsPath& folder = summary_.layout.recipe_copy;
    if (now_.ran_whole && HasIncrementalScript()) {
      PTPKG_TRY(std::string text, builder::ScriptText(env_.fs, later, folder));
      return std::optional(builder::ScriptToRun{.interpreter = later.interpreter,
                                                .text = std::move(text),
                                                .whole = false,
                                                .env = later.env,
                                                .secrets = later.secrets});
    }
    PTPKG_TRY(std::optional<std::string> text,
              builder::BuildScriptText(env_.fs, native_.recipe.script, folder));
    if (!text) return std::optional<builder::ScriptToRun>();
    return std::optional(builder::ScriptToRun{.interpreter = native_.recipe.script.interpreter,
                                              .text = *std::move(text),
                                              .env = {},
                                              .secrets = native_.recipe.script.secrets});
  }

  /// The phase stays kScript: a compiler that was killed makes a script fail like any other.
  Error Failed(Error error) {
    if (error.code() != ErrorCode::kCommandFailed) return error;
    now_.script_ended = true;
    const Result<void> saved = folder_.Save(now_);
    if (!saved) return saved.error();
    env_.reporter.Note(fmt::format("kept work directory '{}'; rerun the same command to continue",
                                   summary_.layout.source.str()));
    return error;
  }

  [[nodiscard]] double SecondsSince(std::chrono::steady_clock::time_point start) const {
    return std::chrono::duration<double>(env_.clock.Now() - start).count();
  }

  Env& env_;
  const NativeRequest& request_;
  const recipe::Recipe& recipe_;
  DevFolder& folder_;
  bool knows_tools_;
  bool wants_whole_plan_ = false;
  recipe::NativeBuild native_;
  builder::RecipeFolder recipe_folder_;
  DevSources sources_;
  builder::SourceRecord fixed_;  // what the copy held before the first synchronisation: other sources' files
  DevState now_;
  DevSummary summary_;
};

/// Extent of a run.
enum class DevExtent : std::uint8_t { kPrepare, kWhole };

/// Runs `run` as the last node of `plan`.
Result<void> RunAsLastNode(Env& env, graph::Plan plan, const AbsPath& output, DevRun& run, DevExtent extent) {
  plan.nodes.back().stage = "dev";
  plan.nodes.back().version = 1;
  const auto in_node = [&](Env&, const graph::NodeRun& node) -> Result<graph::NodeResult> {
    PTPKG_CHECK(run.Prepare(node));
    if (extent == DevExtent::kPrepare || run.wants_whole_plan()) return graph::NodeResult();
    PTPKG_CHECK(run.RunScript());
    PTPKG_CHECK(run.RunTests());
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
    DevRun run(env, request, planned.recipe, folder, tools.has_value());
    PTPKG_CHECK(RunAsLastNode(env, std::move(planned.plan), request.build.output, run, extent));
    if (!run.wants_whole_plan()) return run.summary();
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
