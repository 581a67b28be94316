#include "builder/run_build.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>

#include "builder/env/environment.h"
#include "builder/env/environment_file.h"
#include "builder/post_process.h"
#include "builder/prefix_diff.h"
#include "builder/preflight/jobs.h"
#include "builder/resume/clamp_mtimes.h"
#include "builder/resume/work_state.h"
#include "builder/script/failed_commands.h"
#include "builder/script/script.h"
#include "builder/test/test_files.h"
#include "support/text/globs.h"

namespace ptpkg::builder {

namespace {

/// Files of the recipe where RECIPE_DIR says, and the script, which is taken from there.
Result<std::optional<std::string>> ReadScript(Env& env, const BuildInput& input) {
  RecipeFolder folder;
  if (input.recipe_folder) {
    folder = *input.recipe_folder;
  } else {
    PTPKG_TRY(folder, ReadRecipeFolder(env, input.recipe, {}));
  }
  PTPKG_CHECK(CopyRecipeFolder(env, folder, input.layout.recipe_copy), "while copying the recipe's files");
  return BuildScriptText(env.fs, input.recipe.script, input.layout.recipe_copy);
}

/// A filled host prefix.
struct FilledPrefix {
  ToolSet tools;
  std::vector<RelPath> helpers;  ///< Files that belong to no package.
  std::string preamble;          ///< Shell commands to run before the script.
};

Result<FilledPrefix> FillHostPrefix(Env& env, const BuildInput& input) {
  // Times of files lag behind the clock: by a tick of the kernel, on some file systems by a second.
  constexpr std::int64_t kLagNs = 1'000'000'000;
  const std::int64_t began_ns = NowNs(env) - kLagNs;
  const HostPrefixInput host_input{
      .plan = input.host, .layout = input.layout, .unpack = input.unpack, .log_file = input.log_file};
  PTPKG_TRY(HostPrefix host, HostPrefix::Create(env, host_input));
  for (const LocalPackage& package : input.packages) PTPKG_CHECK(host.Unpack(package));
  PTPKG_CHECK(host.FinishPython());
  PTPKG_CHECK(ClampMtimes(env, input.layout, began_ns), "while creating the host prefix");
  return FilledPrefix{.tools = host.tools(), .helpers = host.helpers(), .preamble = host.preamble()};
}

/// Puts the inherited files into the prefix. Those that a host package has too stay that package's.
Result<PrefixSnapshot> Inherit(Env& env, const BuildInput& input, const PrefixSnapshot& host_files,
                               const std::vector<RelPath>& helpers) {
  PTPKG_CHECK(RestorePrefix(env, *input.inherited, input.layout));
  PTPKG_TRY(PrefixSnapshot before, PrefixSnapshot::Take(env, input.layout.prefix, helpers));
  for (const RelPath& file : input.inherited->files) {
    if (!host_files.Contains(file)) before.Forget(file);
  }
  return before;
}

/// Everything that the script finds.
struct ReadyPrefix {
  FilledPrefix host;
  PrefixSnapshot before;  ///< Files that the script does not add.
  std::optional<std::string> script;
};

Result<ReadyPrefix> PreparePrefix(Env& env, const BuildInput& input) {
  PTPKG_CHECK(RemoveTree(env.fs, input.log_file), "while replacing the log of the last build");
  PTPKG_TRY(std::optional<std::string> script, ReadScript(env, input));
  PTPKG_TRY(FilledPrefix host, FillHostPrefix(env, input));
  PTPKG_TRY(PrefixSnapshot before, PrefixSnapshot::Take(env, input.layout.prefix, host.helpers));
  if (input.inherited) {
    PTPKG_TRY(before, Inherit(env, input, before, host.helpers));
  }
  for (const RelPath& path : before.Paths()) {
    if (MatchesAnyGlob(input.recipe.always_include_files, path.str())) before.Forget(path);
  }
  return ReadyPrefix{.host = std::move(host), .before = std::move(before), .script = std::move(script)};
}

struct ScriptPlace {
  ScriptContext context;
  bool inherits_cache = false;  ///< Inherited files or a resumed state hold compilers wrapped for the cache.
};

Result<ScriptPlace> PlaceOf(Env& env, const BuildInput& input, const FilledPrefix& host) {
  ScriptContext context{.variables = ScriptEnvironment(env, {.recipe = input.recipe,
                                                             .layout = input.layout,
                                                             .source_root = input.source_root,
                                                             .tools = host.tools,
                                                             .mentioned = input.mentioned,
                                                             .source_commit = input.source_commit}),
                        .preamble = host.preamble};
  PTPKG_TRY(const bool inherits_cache, HasCompilerCache(env, input.layout));
  // Inherited files or a resumed state may name these programs, and go on to call them.
  if (input.compiler_cache || inherits_cache) {
    PTPKG_TRY(const CompilerCache cache, WrapCompilers(env, {.program = input.compiler_cache,
                                                             .recipe = input.recipe,
                                                             .layout = input.layout,
                                                             .variables = context.variables}));
    for (const auto& [name, value] : cache.variables) context.variables[name] = value;
    if (!context.preamble.empty()) context.preamble += cache.preamble;
  }
  return ScriptPlace{.context = std::move(context), .inherits_cache = inherits_cache};
}

/// The prefix after the script.
struct ScriptResult {
  std::vector<RelPath> added;
  ToolSet tools;  ///< Those of the prefix.
  bool has_script = false;
  bool inherits_cache = false;                  ///< See ScriptPlace.
  std::map<std::string, std::uint64_t> counts;  ///< Of the compiler cache.
};

/// Host prefix and script.
Result<ScriptResult> Make(Env& env, const BuildInput& input) {
  PTPKG_TRY(ReadyPrefix prefix, PreparePrefix(env, input));
  ScriptResult made;
  made.has_script = prefix.script.has_value();
  if (prefix.script) {
    PTPKG_TRY(const ScriptPlace place, PlaceOf(env, input, prefix.host));
    made.inherits_cache = place.inherits_cache;
    PTPKG_CHECK(RunScriptIn(env, input, place.context,
                            {.interpreter = input.recipe.script.interpreter,
                             .text = *std::move(prefix.script),
                             .env = {},
                             .secrets = input.recipe.script.secrets}));
    if (input.compiler_cache) {
      PTPKG_TRY(made.counts, CompilerCacheCounts(env, input.layout));
    }
  }
  PTPKG_CHECK(WriteEntryPoints(env, input.recipe, input.layout));
  PTPKG_TRY(made.added, prefix.before.Added(env, input.layout.prefix));
  made.tools = std::move(prefix.host.tools);
  return made;
}

/// `inherits_cache`: see ScriptPlace.
Result<void> RefuseTraces(Env& env, const BuildInput& input, const std::vector<RelPath>& files,
                          bool inherits_cache) {
  PTPKG_TRY(const bool there, HasCompilerCache(env, input.layout));
  if (!there) return Ok();
  Result<void> looked = CheckNoCompilerCachePaths(env, input.layout, input.layout.prefix, files);
  if (looked || looked.error().code() != ErrorCode::kInvalidInput) return looked;
  if (!inherits_cache) return looked;
  if (!input.inherited) {
    return std::move(looked).error().WithHint(
        "the interrupted run used --ccache: build with --fresh and without --ccache (PTPKG_CCACHE)");
  }
  // A build without --ccache would find it in the store again.
  const AbsPath result = input.inherited->work.Parent().Parent();
  return std::move(looked).error().WithHint(
      fmt::format("the inherited staging output was built with --ccache: remove it with \"rm -r {}\", and "
                  "build without --ccache (PTPKG_CCACHE)",
                  ShellQuote({result.str()})));
}

/// Errors: kInvalidInput where no file is selected of those that were added, and no empty package is meant.
Result<void> CheckEmpty(const BuildInput& input, const ScriptResult& made) {
  const bool nothing = !made.has_script && input.recipe.sources.empty() && !input.inherited;
  const bool wanted = input.recipe.ptpkg.allow_empty || nothing;
  if (wanted) return Ok();
  if (!made.added.empty()) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'build.files' leaves out all of the {} files that the build of '{}' added",
                             made.added.size(), input.subject))
        .WithHint("globs match paths relative to the prefix: \"lib/**\"");
  }
  return Error(ErrorCode::kInvalidInput,
               fmt::format("the build of '{}' added no file to the prefix", input.subject))
      .WithHint(made.has_script
                    ? "install into $PREFIX; if the package is meant to be empty, set "
                      "extra.ptpkg.allow_empty: true"
                    : "the recipe has sources but no script: write one, or a build.sh beside the recipe");
}

/// Copies of the licence files below the prefix, which loses what the package does not hold.
Result<std::vector<LicenseFile>> KeepPrefixLicenses(Env& env, const BuildInput& input) {
  PTPKG_TRY(std::vector<LicenseFile> files, FindPrefixLicenses(env, input.recipe, input.layout.prefix));
  for (LicenseFile& file : files) {
    PTPKG_TRY(const RelPath name, RelPath::Parse(file.name), "while keeping licence files");
    const AbsPath copy = input.layout.root / "licenses" / name;
    PTPKG_CHECK(env.fs.MakeDirs(copy.Parent()));
    PTPKG_CHECK(RemoveTree(env.fs, copy));
    PTPKG_CHECK(env.fs.CopyFile(file.path, copy), "while keeping licence files");
    file.path = copy;
  }
  return files;
}

/// The added or inherited files that are not selected.
Result<std::vector<RelPath>> WheelOnly(Env& env, const BuildInput& input,
                                       const std::vector<RelPath>& selected, std::vector<RelPath> added) {
  const std::vector<std::string>& formats = input.recipe.ptpkg.formats;
  const bool taken = std::any_of(formats.begin(), formats.end(), [](const std::string& format) {
    return format == "wheel" || format == "zip";
  });
  if (!input.inherited || !taken) {
    return std::vector<RelPath>();
  }
  const bool distribution = std::any_of(selected.begin(), selected.end(), [](const RelPath& path) {
    return path.str().find(".dist-info/") != std::string::npos;
  });
  if (!distribution && !input.recipe.ptpkg.formats_given)
    return std::vector<RelPath>();  // there will be no wheel
  for (const RelPath& file : input.inherited->files) {
    PTPKG_TRY(const bool there, Exists(env.fs, input.layout.prefix / file));
    if (there) added.push_back(file);
  }
  std::sort(added.begin(), added.end());
  added.erase(std::unique(added.begin(), added.end()), added.end());
  PTPKG_TRY(const std::vector<RelPath> all, SelectFiles(recipe::Recipe(), added));
  std::vector<RelPath> rest;
  std::set_difference(all.begin(), all.end(), selected.begin(), selected.end(), std::back_inserter(rest));
  return rest;
}

std::vector<std::string> ForbiddenPaths(const WorkLayout& layout) {
  std::vector<std::string> paths = {layout.home.str(), layout.temp.str()};
  for (const AbsPath& folder : {layout.source, layout.recipe_copy, layout.build_prefix}) {
    paths.push_back(layout.RootPlaceholder() + folder.str().substr(layout.root.str().size()));
  }
  return paths;
}

/// Post-processes the files of the prefix. `tools`: those of the prefix.
Result<StagedBuild> Stage(Env& env, const BuildInput& input, const ToolSet& tools) {
  const std::optional<Python>& machine = input.host.tools.python;
  const std::string python = machine ? machine->executable.str() : std::string();
  PTPKG_CHECK(PostProcess(env, {.recipe = input.recipe, .layout = input.layout, .python = python}),
              "while post-processing the build");
  PTPKG_TRY(StagedTree tree, ScanTree(env, input.layout.prefix), "while listing the files of the build");
  return StagedBuild{.tree = std::move(tree),
                     .prefix = input.layout.PrefixPlaceholder(),
                     .python_version = tools.python ? tools.python->LibraryVersion() : std::string(),
                     .forbidden_paths = ForbiddenPaths(input.layout),
                     .wheel_only = {},
                     .licenses = {},
                     .counts = {}};
}

}  // namespace

Result<MadePrefix> MakePrefix(Env& env, const BuildInput& input) {
  PTPKG_TRY(const ReadyPrefix prefix, PreparePrefix(env, input));
  PTPKG_TRY(ScriptPlace place, PlaceOf(env, input, prefix.host));
  MadePrefix made{.place = std::move(place.context), .host_files = prefix.before.Paths()};
  PTPKG_CHECK(WriteEnvironmentFile(env.fs, input, made.place));
  return made;
}

Result<void> RunScriptIn(Env& env, const BuildInput& input, const ScriptContext& place,
                         const ScriptToRun& script) {
  const std::uint64_t per_job = MemoryPerJob(input.recipe, input.memory_per_job);
  const JobChoice jobs = ChooseJobs(env, per_job);
  if (!jobs.warning.empty()) env.reporter.Warn(fmt::format("'{}': {}", input.subject, jobs.warning));
  Env own = env;
  own.jobs = jobs.jobs;
  ScriptContext there = place;
  SetJobs(jobs.jobs, input.recipe, there.variables);
  for (const auto& [name, value] : script.env) there.variables[name] = value;
  PTPKG_CHECK(WriteEnvironmentFile(env.fs, input, there));
  const bool shell = script.interpreter == "bash";
  // A copy below the root: an edit of the recipe during the build has no part in it.
  return RunBuildScript(own, {.stage = "build",
                              .subject = input.subject,
                              .title = "",
                              .interpreter = script.interpreter,
                              .text = (shell ? there.preamble : std::string()) + script.text,
                              .file = input.layout.root / "script/build_script",
                              .cwd = input.source_root,
                              .log_file = input.log_file,
                              .variables = std::move(there.variables),
                              .how = jobs.told,
                              .bytes_per_job = per_job,
                              .free_bytes = jobs.free_bytes,
                              .remembers = script.whole,
                              .failed_commands = FailedCommandsFile(input.layout),
                              .watched = {{"PREFIX", input.layout.prefix}, {"SRC_DIR", input.source_root}},
                              .secrets = SecretsOf(env, script.secrets, input.subject)});
}

Result<StagedBuild> Run(Env& env, const BuildInput& input) {
  PTPKG_TRY(const ScriptResult made, Make(env, input));
  PTPKG_TRY(std::vector<LicenseFile> licenses, KeepPrefixLicenses(env, input));
  PTPKG_TRY(const std::vector<RelPath> selected, SelectFiles(input.recipe, made.added));
  if (selected.empty()) PTPKG_CHECK(CheckEmpty(input, made));
  PTPKG_TRY(std::vector<RelPath> wheel_only, WheelOnly(env, input, selected, made.added));
  std::vector<RelPath> kept;
  std::merge(selected.begin(), selected.end(), wheel_only.begin(), wheel_only.end(),
             std::back_inserter(kept));
  PTPKG_CHECK(RemoveAllExcept(env, input.layout.prefix, kept));
  PTPKG_CHECK(RefuseTraces(env, input, kept, made.inherits_cache));
  PTPKG_CHECK(CopyTestFiles(env, input.recipe,
                            {.source_root = input.source_root,
                             .recipe_folder = input.layout.recipe_copy,
                             .prefix = input.layout.prefix}));
  PTPKG_TRY(StagedBuild staged, Stage(env, input, made.tools));
  staged.wheel_only = std::move(wheel_only);
  staged.licenses = std::move(licenses);
  staged.counts = made.counts;
  return staged;
}

Result<StagingBuild> RunStaging(Env& env, const BuildInput& input) {
  PTPKG_TRY(ScriptResult made, Make(env, input));
  PTPKG_CHECK(RefuseTraces(env, input, made.added, made.inherits_cache));
  return StagingBuild{.files = std::move(made.added),
                      .forbidden_paths = {input.layout.home.str(), input.layout.temp.str()},
                      .counts = std::move(made.counts)};
}

}  // namespace ptpkg::builder
