// Idea: the inputs of the build node say whether the directory of the last run can be used. If it can, a run
// resumes: it undoes what an interrupted script left, copies edited sources, and takes scripts anew.
// Otherwise the directory is emptied and made from the beginning. Invariants: the reasons that need no look
// into the directory come first; preflight refuses before the directory is emptied; the saved state never
// says that the script has run whole where it has not (it is saved before the copy of the sources gets or
// loses a file).

#include "pipeline/develop/dev_prepare.h"

#include <fmt/core.h>

#include "builder/resume/resume.h"
#include "builder/resume/source_record.h"
#include "builder/script/script.h"
#include "builder/tools/tool_fingerprint.h"
#include "pipeline/develop/dev_restore.h"
#include "pipeline/plan/build_analysis.h"
#include "pipeline/plan/plan_sources.h"
#include "pipeline/stages/build_folder.h"
#include "pipeline/stages/package_inputs.h"
#include "pipeline/stages/staging_inputs.h"
#include "recipe/recipe_codec.h"
#include "support/digest/hash.h"
#include "support/files/scratch.h"
#include "support/text/json.h"
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

/// Digest of the files that the build script may read in RECIPE_DIR.
std::string DigestOfFiles(const recipe::Recipe& recipe, const builder::RecipeFolder& folder) {
  KeyHasher hasher;
  const std::string& other = recipe.ptpkg.dev_script.file;  // may lack its ".sh"
  for (const TreeEntry& file : folder.tree.entries) {
    if (file.path.str() == other || file.path.str() == other + ".sh") continue;
    hasher.Add(file.path.str(), fmt::format("{} {} {}", file.mode, file.sha256.Hex(), file.link_target));
  }
  return hasher.Finish().Hex();
}

/// State of a directory that is made from `inputs`.
Result<DevState> StateOfInputs(Env& env, const recipe::Recipe& recipe, const graph::NodeRun& run,
                               const DevInputs& inputs) {
  DevState state;
  PTPKG_TRY(state.source_stamp, FixedFingerprint(env, inputs.sources));
  for (const auto& [name, digest] : run.digests()) {
    if (!IsRefreshedEachRun(name)) state.inputs.emplace(name, digest);
    if (IsOfScript(name)) state.scripts.emplace(name, digest);
  }
  state.scripts["recipe folder"] = DigestOfFiles(recipe, inputs.recipe_folder);
  state.inputs["build.script.env"] = HashText(Json(inputs.native.recipe.script.env).dump()).Hex();
  std::string below;
  for (const builder::SyncOrigin& origin : inputs.sources.synchronised) {
    below += origin.below + "\n";
    state.origins += origin.folder.str() + "\n";
  }
  state.inputs["source.target_directory"] = HashText(below).Hex();
  return state;
}

/// Hint about an edit that made the staging output anew, if one did.
std::string StagingHint(const recipe::Recipe& recipe, const DevState& left, const DevState& now) {
  const auto before = left.inputs.find("staging");
  const auto after = now.inputs.find("staging");
  if (before == left.inputs.end() || after == now.inputs.end() || before->second == after->second) return "";
  return fmt::format(" (use --name {1} for faster edits of '{0}')", recipe.inherited->name,
                     recipe.inherited->name);
}

/// "" if the directory can be resumed in, as far as that can be seen without looking into it.
std::string RestartReason(const DevJob& job, const DevFolder& folder) {
  if (!folder.damage().empty()) return folder.damage();
  if (!folder.left()) return "";
  const DevState& left = *folder.left();
  if (job.request.build.fresh) return "--fresh";
  const std::string changed = Differences(left.inputs, job.inputs.state.inputs);
  if (!changed.empty()) return changed + " changed" + StagingHint(job.recipe, left, job.inputs.state);
  if (folder.phase() == WorkPhase::kScript && folder.is_other_boot() && !left.script_ended) {
    return "the machine went down while the script ran";
  }
  return "";
}

AbsPath SyncFile(const DevFolder& folder) { return folder.root() / "synchronised"; }
/// Record of what the copy held before the first synchronisation: the files of other sources.
AbsPath FixedFile(const DevFolder& folder) { return folder.root() / "fixed"; }

builder::SyncRequest SyncOf(const DevSources& sources, const builder::WorkLayout& layout,
                            const DevFolder& folder) {
  return {.origins = sources.synchronised, .copy = layout.source, .record_file = SyncFile(folder)};
}

/// The tools. Sets in `state` what a later run has to look at to know that they are the same.
Result<builder::HostPlan> ResolveTools(Env& env, const DevJob& job, DevState& state) {
  PTPKG_TRY(const builder::HostRequest request, ReadHostRequest(job.run));
  PTPKG_TRY(builder::HostPlan host, builder::CheckTools(env, job.inputs.native.recipe, request));
  PTPKG_CHECK(CheckToolsUnchanged(env, job.run, host));
  PTPKG_TRY(state.tools, job.run.Text("tools"));
  state.tool_files = builder::FingerprintedFiles(env, host);
  PTPKG_TRY(state.tool_stamp, DevToolFingerprint(env, job.request.build, job.recipe, state.tool_files));
  return host;
}

/// The state of the last run, as far as the inputs of this run leave it.
Result<DevState> CarryOver(Env& env, const DevJob& job, const DevState& left) {
  DevState state = job.inputs.state;
  state.source_key = left.source_key;
  if (left.source_stamp != state.source_stamp) {
    PTPKG_TRY(state.source_key, FixedKey(env, job.inputs.sources));
    if (state.source_key != left.source_key) return state;  // cannot be resumed in
  }
  state.place = left.place;
  state.ran_whole = left.ran_whole && left.scripts == state.scripts;
  if (job.knows_tools) {
    state.tools = left.tools;
    state.tool_stamp = left.tool_stamp;
    state.tool_files = left.tool_files;
  } else {
    PTPKG_TRY([[maybe_unused]] const builder::HostPlan host, ResolveTools(env, job, state));
  }
  return state;
}

/// Copies edited sources. `state` is saved before the copy gets or loses a file: a run that is cut off then
/// must not forget it.
Result<builder::SyncOutcome> Synchronise(Env& env, builder::SyncRequest sync, builder::SyncRecord& record,
                                         DevState& state, DevFolder& folder) {
  sync.before_other_files = [&] {
    state.ran_whole = false;
    return folder.Save(state);
  };
  PTPKG_TRY(builder::SyncOutcome outcome, builder::SyncSources(env, sync, record));
  PTPKG_CHECK(RemoveTree(env.fs, builder::ShellRecordFile(folder.root())));
  return outcome;
}

/// The directory of the last run, or why no run can resume in it.
struct ResumedDev {
  std::string obstacle = {};
  PreparedDev prepared = {};
};

ResumedDev CannotResume(std::string why) { return {.obstacle = std::move(why), .prepared = {}}; }

/// Takes the recipe's files anew and saves `state`.
Result<void> FinishResume(Env& env, const DevJob& job, const builder::WorkLayout& layout,
                          const DevState& state, DevFolder& folder) {
  PTPKG_CHECK(RemoveTree(env.fs, layout.recipe_copy));
  PTPKG_CHECK(builder::CopyRecipeFolder(env, job.inputs.recipe_folder, layout.recipe_copy),
              "while copying the recipe's files");
  PTPKG_CHECK(folder.Save(state));
  return folder.SetPhase(WorkPhase::kPrepared);
}

/// Resumes in what the last run left. REQUIRES: folder.left(), and no RestartReason.
Result<ResumedDev> ResumeDev(Env& env, const DevJob& job, const builder::WorkLayout& layout,
                             DevFolder& folder) {
  const recipe::Recipe& recipe = job.recipe;
  const DevState left = *folder.left();
  PTPKG_TRY(DevState state, CarryOver(env, job, left));
  if (state.source_key != left.source_key) {
    return CannotResume("a source that is patched, unpacked or from git changed, and cannot be synchronised");
  }
  PTPKG_CHECK(RemoveAbandoned(env, folder.root()));
  PTPKG_TRY(const bool there, Exists(env.fs, layout.source));
  if (!there) return CannotResume("its sources are missing");
  builder::SyncRecord record;
  PTPKG_TRY(std::string why, TakeRecord(builder::SyncRecord::Read(env, SyncFile(folder)), record));
  if (!why.empty()) return CannotResume(std::move(why));
  builder::SourceRecord fixed;
  PTPKG_TRY(why, TakeRecord(builder::SourceRecord::Read(env, FixedFile(folder)), fixed));
  if (!why.empty()) return CannotResume(std::move(why));
  const bool inherits = recipe.inherited != nullptr;
  PTPKG_TRY(DevRestoration restored, RestoreDevFiles(env, {folder, layout, fixed, inherits}, record));
  if (!restored.obstacle.empty()) return CannotResume(std::move(restored.obstacle));
  if (restored.needs_whole_script) state.ran_whole = false;
  if (left.origins != state.origins) {
    record.RereadAllSources();
    PTPKG_CHECK(record.Write(env.fs, SyncFile(folder)));  // before the new origins are
  }
  builder::SyncRequest sync = SyncOf(job.inputs.sources, layout, folder);
  // The files of a staging output give way.
  if (!inherits) sync.is_taken = [&](const RelPath& path) { return fixed.Holds(path); };
  PTPKG_TRY(builder::SyncOutcome synchronised, Synchronise(env, std::move(sync), record, state, folder));
  ResumedDev resumed{.prepared = {.layout = layout,
                                  .copied = std::move(synchronised.copied),
                                  .removed = std::move(synchronised.removed)}};
  if (!recipe.ptpkg.resume && !(state.ran_whole && HasIncrementalScript(recipe))) {
    resumed.obstacle = "its script cannot run twice in one directory (extra.ptpkg.resume: false)";
    return resumed;
  }
  PTPKG_CHECK(FinishResume(env, job, layout, state, folder));
  resumed.prepared.state = std::move(state);
  return resumed;
}

/// Fills the empty directory with the sources and the records of them. Returns the key of the fixed sources.
Result<std::string> MakeDevSources(Env& env, const DevSources& sources, const InheritedStaging& inheritance,
                                   const builder::WorkLayout& layout, const DevFolder& folder) {
  PTPKG_TRY(const Sha256 copied, MakeSources(env, sources.fixed, sources.options, {inheritance, layout}));
  PTPKG_TRY(const bool there, Exists(env.fs, layout.source));
  if (!there) PTPKG_CHECK(env.fs.MakeDirs(layout.source));
  PTPKG_TRY(const builder::SourceRecord fixed, builder::SourceRecord::Take(env, layout.source));
  PTPKG_CHECK(fixed.Write(env.fs, FixedFile(folder)));
  builder::SyncRecord record;
  builder::SyncRequest sync = SyncOf(sources, layout, folder);
  sync.first = true;
  sync.replaces = inheritance.archives.has_value();
  PTPKG_TRY([[maybe_unused]] const builder::SyncOutcome all, builder::SyncSources(env, sync, record));
  PTPKG_TRY(const builder::SourceRecord whole, builder::SourceRecord::Take(env, layout.source));
  PTPKG_CHECK(whole.Write(env.fs, folder.root() / "sources"));
  return sources.HasFixed() ? copied.Hex() : "";
}

/// Makes the directory from the beginning.
Result<PreparedDev> MakeDevAnew(Env& env, const DevJob& job, DevFolder& folder) {
  PreparedDev made{.state = job.inputs.state, .anew = true};
  // A refusal leaves the content of the directory untouched.
  PTPKG_CHECK(PreflightBuilds(env, {job.run}));
  PTPKG_TRY(std::vector<builder::LocalPackage> packages, ReadPackages(env, job.run));
  PTPKG_TRY(builder::HostPlan host, ResolveTools(env, job, made.state));
  PTPKG_TRY(const InheritedStaging inheritance, ReadInheritedStaging(job.run));
  PTPKG_CHECK(folder.StartOver());
  PTPKG_TRY(made.layout, builder::MakeWorkLayout(env, folder.path()));
  PTPKG_TRY(made.state.source_key, MakeDevSources(env, job.inputs.sources, inheritance, made.layout, folder));

  builder::BuildInput input = DevBuildInput(job, made.layout, folder);
  input.packages = std::move(packages);
  input.unpack = UnpackInto;
  input.host = std::move(host);
  input.mentioned = job.inputs.native.mentioned;
  input.recipe_folder = job.inputs.recipe_folder;
  input.inherited = inheritance.archives;
  PTPKG_TRY(builder::MadePrefix prefix, builder::MakePrefix(env, input));
  made.state.place = std::move(prefix.place);
  PTPKG_CHECK(folder.SaveHostFiles(prefix.host_files));
  PTPKG_CHECK(folder.Save(made.state));
  PTPKG_CHECK(folder.SetPhase(WorkPhase::kPrepared));
  return made;
}

}  // namespace

Result<DevInputs> ReadDevInputs(Env& env, const recipe::Recipe& recipe, const graph::NodeRun& run) {
  PTPKG_TRY(const Json encoded, run.Input("recipe"));
  PTPKG_TRY(recipe::NativeBuild native, recipe::DecodeNativeBuild(encoded, run.subject()));
  PTPKG_TRY(native.recipe.recipe_dir, run.Place("recipe"));
  PTPKG_TRY(builder::RecipeFolder recipe_folder, ReadRecipeFolder(env, run));
  const auto given = run.Place("source");
  PTPKG_TRY(native.recipe.sources, ReadSources(run));
  recipe::Recipe with_sources = recipe;
  with_sources.sources = native.recipe.sources;
  PTPKG_TRY(DevSources sources, SplitSources(env, with_sources, given ? std::optional(*given) : std::nullopt,
                                             ReadSourceExclusions(run)));
  DevInputs inputs{.native = std::move(native),
                   .recipe_folder = std::move(recipe_folder),
                   .sources = std::move(sources),
                   .state = {}};
  PTPKG_TRY(inputs.state, StateOfInputs(env, recipe, run, inputs));
  return inputs;
}

Result<std::optional<PreparedDev>> PrepareDevFolder(Env& env, const DevJob& job, DevFolder& folder) {
  PTPKG_CHECK(env.fs.MakeDirs(folder.path()));
  PTPKG_TRY(const builder::WorkLayout layout, builder::MakeWorkLayout(env, folder.path()));
  PTPKG_CHECK(builder::WaitForEarlierScript(env, layout));
  PTPKG_CHECK(RemoveTree(env.fs, DevLogFile(folder)), "while replacing the log of the last run");
  std::string why = RestartReason(job, folder);
  ResumedDev resumed;
  if (folder.left() && why.empty()) {
    PTPKG_TRY(resumed, ResumeDev(env, job, layout, folder));
    if (resumed.obstacle.empty()) return std::optional(std::move(resumed.prepared));
    why = std::move(resumed.obstacle);
  }
  if (job.knows_tools) return std::optional<PreparedDev>();
  const bool is_first = !folder.left() && folder.damage().empty();
  if (!is_first) env.reporter.Note(fmt::format("'{}' starts over: {}", job.recipe.FileStem(), why));
  PTPKG_TRY(PreparedDev made, MakeDevAnew(env, job, folder));
  if (!is_first) made.why_anew = std::move(why);
  return std::optional(std::move(made));
}

AbsPath DevLogFile(const DevFolder& folder) { return folder.root() / "build.log"; }

builder::BuildInput DevBuildInput(const DevJob& job, const builder::WorkLayout& layout,
                                  const DevFolder& folder) {
  return {.recipe = job.inputs.native.recipe,
          .subject = job.recipe.FileStem(),
          .source_root = layout.source,
          .packages = {},
          .unpack = {},
          .layout = layout,
          .log_file = DevLogFile(folder),
          .source_commit = SourceCommit(job.run, job.inputs.native.recipe.sources),
          .memory_per_job = job.recipe.ptpkg.memory_per_job};
}

bool HasIncrementalScript(const recipe::Recipe& recipe) {
  const recipe::BuildScript& later = recipe.ptpkg.dev_script;
  return !(later.lines.empty() && later.file.empty());
}

Result<std::string> DevToolFingerprint(Env& env, const BuildRequest& request, const recipe::Recipe& recipe,
                                       const std::vector<std::string>& files) {
  return builder::ToolFingerprint(env, recipe, {.host_env = request.host_env, .options = request.tools},
                                  files);
}

}  // namespace ptpkg::pipeline
