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

class Builder {
 public:
  Builder(Env& env, const BuildInput& input) : env_(env), input_(input), recipe_(input.recipe) {}

  Result<StagedBuild> Run() {
    PTPKG_TRY(const std::vector<RelPath> added, Make());
    PTPKG_TRY(std::vector<LicenseFile> licenses, KeepPrefixLicenses());
    PTPKG_TRY(const std::vector<RelPath> selected, SelectFiles(recipe_, added));
    if (selected.empty()) PTPKG_CHECK(CheckEmpty(added.size()));
    PTPKG_TRY(std::vector<RelPath> wheel_only, WheelOnly(selected, added));
    std::vector<RelPath> kept;
    std::merge(selected.begin(), selected.end(), wheel_only.begin(), wheel_only.end(),
               std::back_inserter(kept));
    PTPKG_CHECK(RemoveAllExcept(env_, input_.layout.prefix, kept));
    PTPKG_CHECK(RefuseTraces(kept));
    PTPKG_CHECK(CopyTestFiles(env_, recipe_,
                              {.source_root = input_.source_root,
                               .recipe_folder = input_.layout.recipe_copy,
                               .prefix = input_.layout.prefix}));
    PTPKG_TRY(StagedBuild staged, Stage());
    staged.wheel_only = std::move(wheel_only);
    staged.licenses = std::move(licenses);
    staged.counts = counts_;
    return staged;
  }

  Result<StagingBuild> RunStaging() {
    PTPKG_TRY(std::vector<RelPath> added, Make());
    PTPKG_CHECK(RefuseTraces(added));
    return StagingBuild{.files = std::move(added),
                        .forbidden_paths = {input_.layout.home.str(), input_.layout.temp.str()},
                        .counts = counts_};
  }

  Result<MadePrefix> MakePrefix() {
    PTPKG_TRY(const Prefix prefix, MakeThePrefix());
    PTPKG_TRY(ScriptContext place, Place());
    MadePrefix made{.place = std::move(place), .host_files = prefix.before.Paths()};
    PTPKG_CHECK(WriteEnvironmentFile(env_.fs, input_, made.place));
    return made;
  }

 private:
  /// Copies of the licence files below the prefix, which loses what the package does not hold.
  Result<std::vector<LicenseFile>> KeepPrefixLicenses() {
    PTPKG_TRY(std::vector<LicenseFile> files, FindPrefixLicenses(env_, recipe_, input_.layout.prefix));
    for (LicenseFile& file : files) {
      PTPKG_TRY(const RelPath name, RelPath::Parse(file.name), "while keeping licence files");
      const AbsPath copy = input_.layout.root / "licenses" / name;
      PTPKG_CHECK(env_.fs.MakeDirs(copy.Parent()));
      PTPKG_CHECK(RemoveTree(env_.fs, copy));
      PTPKG_CHECK(env_.fs.CopyFile(file.path, copy), "while keeping licence files");
      file.path = copy;
    }
    return files;
  }

  /// Host prefix and script; what they added.
  Result<std::vector<RelPath>> Make() {
    PTPKG_TRY(const Prefix prefix, MakeThePrefix());
    if (prefix.script) {
      PTPKG_TRY(const ScriptContext place, Place());
      PTPKG_CHECK(RunScriptIn(env_, input_, place,
                              {.interpreter = recipe_.script.interpreter,
                               .text = *prefix.script,
                               .env = {},
                               .secrets = recipe_.script.secrets}));
      if (input_.compiler_cache) {
        PTPKG_TRY(counts_, CompilerCacheCounts(env_, input_.layout));
      }
    }
    PTPKG_CHECK(WriteEntryPoints(env_, recipe_, input_.layout));
    return prefix.before.Added(env_, input_.layout.prefix);
  }

  struct Prefix {
    PrefixSnapshot before;
    std::optional<std::string> script;
  };
  Result<Prefix> MakeThePrefix() {
    PTPKG_CHECK(RemoveTree(env_.fs, input_.log_file), "while replacing the log of the last build");
    PTPKG_TRY(const std::optional<std::string> script, ReadScript());
    has_script_ = script.has_value();
    PTPKG_TRY(HostPrefix host, MakeHost());
    host_.emplace(std::move(host));
    PTPKG_TRY(PrefixSnapshot before, PrefixSnapshot::Take(env_, input_.layout.prefix, host_->helpers()));
    if (input_.inherited) {
      PTPKG_TRY(before, Inherit(before));
    }
    for (const RelPath& path : before.Paths()) {
      if (MatchesAnyGlob(recipe_.always_include_files, path.str())) before.Forget(path);
    }
    return Prefix{.before = std::move(before), .script = script};
  }

  /// Puts the inherited files into the prefix. Those that a host package has too stay that package's.
  Result<PrefixSnapshot> Inherit(const PrefixSnapshot& host_files) {
    PTPKG_CHECK(RestorePrefix(env_, *input_.inherited, input_.layout));
    PTPKG_TRY(PrefixSnapshot before, PrefixSnapshot::Take(env_, input_.layout.prefix, host_->helpers()));
    for (const RelPath& file : input_.inherited->files) {
      if (!host_files.Contains(file)) before.Forget(file);
    }
    return before;
  }

  /// The added or inherited files that are not selected.
  Result<std::vector<RelPath>> WheelOnly(const std::vector<RelPath>& selected, std::vector<RelPath> added) {
    const std::vector<std::string>& formats = recipe_.ptpkg.formats;
    const bool taken = std::any_of(formats.begin(), formats.end(), [](const std::string& format) {
      return format == "wheel" || format == "zip";
    });
    if (!input_.inherited || !taken) {
      return std::vector<RelPath>();
    }
    const bool distribution = std::any_of(selected.begin(), selected.end(), [](const RelPath& path) {
      return path.str().find(".dist-info/") != std::string::npos;
    });
    if (!distribution && !recipe_.ptpkg.formats_given)
      return std::vector<RelPath>();  // there will be no wheel
    for (const RelPath& file : input_.inherited->files) {
      PTPKG_TRY(const bool there, Exists(env_.fs, input_.layout.prefix / file));
      if (there) added.push_back(file);
    }
    std::sort(added.begin(), added.end());
    added.erase(std::unique(added.begin(), added.end()), added.end());
    PTPKG_TRY(const std::vector<RelPath> all, SelectFiles(recipe::Recipe(), added));
    std::vector<RelPath> rest;
    std::set_difference(all.begin(), all.end(), selected.begin(), selected.end(), std::back_inserter(rest));
    return rest;
  }

  Result<StagedBuild> Stage() {
    const std::optional<Python>& machine = input_.host.tools.python;
    const std::string python = machine ? machine->executable.str() : std::string();
    PTPKG_CHECK(PostProcess(env_, {.recipe = recipe_, .layout = input_.layout, .python = python}),
                "while post-processing the build");
    PTPKG_TRY(StagedTree tree, ScanTree(env_, input_.layout.prefix), "while listing the files of the build");
    const std::optional<Python>& used = host_->tools().python;
    return StagedBuild{.tree = std::move(tree),
                       .prefix = input_.layout.PrefixPlaceholder(),
                       .python_version = used ? used->LibraryVersion() : std::string(),
                       .forbidden_paths = ForbiddenPaths(),
                       .wheel_only = {},
                       .licenses = {},
                       .counts = {}};
  }

  [[nodiscard]] std::vector<std::string> ForbiddenPaths() const {
    const WorkLayout& layout = input_.layout;
    std::vector<std::string> paths = {layout.home.str(), layout.temp.str()};
    for (const AbsPath& folder : {layout.source, layout.recipe_copy, layout.build_prefix}) {
      paths.push_back(layout.RootPlaceholder() + folder.str().substr(layout.root.str().size()));
    }
    return paths;
  }

  /// Puts the recipe's files where RECIPE_DIR says, and takes the script from there.
  Result<std::optional<std::string>> ReadScript() {
    if (input_.recipe_folder) {
      folder_ = *input_.recipe_folder;
    } else {
      PTPKG_TRY(folder_, ReadRecipeFolder(env_, recipe_, {}));
    }
    PTPKG_CHECK(CopyRecipeFolder(env_, folder_, input_.layout.recipe_copy),
                "while copying the recipe's files");
    return BuildScriptText(env_.fs, recipe_.script, input_.layout.recipe_copy);
  }

  Result<HostPrefix> MakeHost() {
    // Times of files lag behind the clock: by a tick of the kernel, on some file systems by a second.
    constexpr std::int64_t kLagNs = 1'000'000'000;
    const std::int64_t began_ns = NowNs(env_) - kLagNs;
    host_input_.emplace(HostPrefixInput{
        .plan = input_.host, .layout = input_.layout, .unpack = input_.unpack, .log_file = input_.log_file});
    PTPKG_TRY(HostPrefix host, HostPrefix::Create(env_, *host_input_));
    for (const LocalPackage& package : input_.packages) PTPKG_CHECK(host.Unpack(package));
    PTPKG_CHECK(host.FinishPython());
    PTPKG_CHECK(ClampMtimes(env_, input_.layout, began_ns), "while creating the host prefix");
    return host;
  }

  Result<ScriptContext> Place() {
    ScriptContext place{.variables = ScriptEnvironment(env_, {.recipe = recipe_,
                                                              .layout = input_.layout,
                                                              .source_root = input_.source_root,
                                                              .tools = host_->tools(),
                                                              .mentioned = input_.mentioned,
                                                              .source_commit = input_.source_commit}),
                        .preamble = host_->preamble()};
    PTPKG_TRY(const CompilerCache cache, WrapCompilersForCache(place.variables));
    for (const auto& [name, value] : cache.variables) place.variables[name] = value;
    if (!place.preamble.empty()) place.preamble += cache.preamble;
    return place;
  }

  /// A build's inherited files or resumed state may name these programs, and go on to call them.
  Result<CompilerCache> WrapCompilersForCache(const std::map<std::string, std::string>& variables) {
    PTPKG_TRY(inherits_cache_, HasCompilerCache(env_, input_.layout));
    if (!input_.compiler_cache && !inherits_cache_) return CompilerCache();
    return WrapCompilers(env_, {.program = input_.compiler_cache,
                                .recipe = recipe_,
                                .layout = input_.layout,
                                .variables = variables});
  }

  Result<void> RefuseTraces(const std::vector<RelPath>& files) {
    PTPKG_TRY(const bool there, HasCompilerCache(env_, input_.layout));
    if (!there) return Ok();
    Result<void> looked = CheckNoCompilerCachePaths(env_, input_.layout, input_.layout.prefix, files);
    if (looked || looked.error().code() != ErrorCode::kInvalidInput) return looked;
    if (!inherits_cache_) return looked;
    if (!input_.inherited) {
      return std::move(looked).error().WithHint(
          "the interrupted run used --ccache: build with --fresh and without --ccache (PTPKG_CCACHE)");
    }
    // A build without --ccache would find it in the store again.
    const AbsPath result = input_.inherited->work.Parent().Parent();
    return std::move(looked).error().WithHint(
        fmt::format("the inherited staging output was built with --ccache: remove it with \"rm -r {}\", and "
                    "build without --ccache (PTPKG_CCACHE)",
                    ShellQuote({result.str()})));
  }

  Result<void> CheckEmpty(std::size_t added) {
    const bool nothing = !has_script_ && recipe_.sources.empty() && !input_.inherited;
    const bool wanted = recipe_.ptpkg.allow_empty || nothing;
    if (wanted) return Ok();
    if (added > 0) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'build.files' leaves out all of the {} files that the build of '{}' added",
                               added, input_.subject))
          .WithHint("globs match paths relative to the prefix: \"lib/**\"");
    }
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the build of '{}' added no file to the prefix", input_.subject))
        .WithHint(has_script_
                      ? "install into $PREFIX; if the package is meant to be empty, set "
                        "extra.ptpkg.allow_empty: true"
                      : "the recipe has sources but no script: write one, or a build.sh beside the recipe");
  }

  Env& env_;
  const BuildInput& input_;
  const recipe::Recipe& recipe_;
  RecipeFolder folder_;
  std::optional<HostPrefixInput> host_input_;
  std::optional<HostPrefix> host_;
  bool has_script_ = false;
  bool inherits_cache_ = false;
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace

Result<MadePrefix> MakePrefix(Env& env, const BuildInput& input) { return Builder(env, input).MakePrefix(); }

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

Result<StagedBuild> Run(Env& env, const BuildInput& input) { return Builder(env, input).Run(); }

Result<StagingBuild> RunStaging(Env& env, const BuildInput& input) {
  return Builder(env, input).RunStaging();
}

}  // namespace ptpkg::builder
