// The flags of all verbs that work on recipes. They are described once: a build, its doctor, its shell and
// its CI job must read the same words in the same way. Layer: cli.

#include "cli/verbs/recipe_flags.h"

#include <fmt/core.h>
#include <utility>

#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

/// A program as a flag names it: one with '/' is a path from the working directory, others are looked up.
Result<std::string> ProgramName(const Context& context, const std::string& text) {
  if (text.find('/') == std::string::npos) return text;
  PTPKG_TRY(const AbsPath path, context.Path(text));
  return path.str();
}

/// Resolves the flags' tools for the plan, so that its nodes find the same programs on another day.
Result<builder::ToolOptions> ToolOptionsOf(const Context& context, const RecipeFlags& flags) {
  // Relative paths become absolute, because a plan can be run from another directory ('ptpkg run-node').
  std::vector<std::string> interpreters;
  for (const std::string& text : Split(flags.python_exe, ':')) {
    PTPKG_TRY(std::string name, ProgramName(context, text));
    interpreters.push_back(std::move(name));
  }
  builder::ToolOptions options{.python = Join(interpreters, ":")};
  PTPKG_TRY(options.conda_exe, ProgramName(context, flags.conda_exe));
  std::vector<std::string> toolkits;
  // PATH does not lead to directories. Without the option, Split() returns one empty text.
  for (const std::string& text : Split(flags.cuda_home, ':')) {
    if (text.empty()) continue;
    PTPKG_TRY(const AbsPath path, context.Path(text));
    toolkits.push_back(path.str());
  }
  options.cuda_home = Join(toolkits, ":");
  return options;
}

}  // namespace

/// `shared` marks options about the machine: their values hold for all verbs, so a configuration file can
/// have them at the top.
std::vector<Option> RecipeOptions(RecipeFlags& flags, const char* output) {
  return {
      VariantsOption(flags.variant_files),
      SelectOption(flags.select, "Build only variants with this value; may be repeated"),
      {.names = "-o,--output",
       .value = "DIR",
       .help = output,
       .target = &flags.output,
       .default_text = "dist"},
      {.names = "--source",
       .value = "NAME=PATH",
       .help = "Replace the source of a package; may be repeated",
       .target = &flags.sources},
      OfflineOption(flags.offline),
      {.names = "--env",
       .help = "Choose where build tools and libraries come from",
       .target = &flags.host_env,
       .choices = {"auto", "system", "wheels", "conda"},
       .default_text = "auto",
       .shared = true},
      {.names = "--python-exe",
       .value = "PROGRAM[:PROGRAM]",
       .help = "Build with these interpreters, one a Python version",
       .target = &flags.python_exe,
       .default_text = "pythonX.Y or python3 on PATH",
       .env = "PTPKG_PYTHON",
       .shared = true},
      {.names = "--conda-exe",
       .value = "PROGRAM",
       .help = "Create conda environments with this client",
       .target = &flags.conda_exe,
       .default_text = "micromamba, mamba or conda on PATH",
       .env = "PTPKG_CONDA_EXE",
       .shared = true},
      {.names = "--cuda-home",
       .value = "DIR[:DIR]",
       .help = "Use the first of these CUDA toolkits that fits",
       .target = &flags.cuda_home,
       .default_text = "PATH, CUDA_HOME, /usr/local/cuda*",
       .env = "PTPKG_CUDA_HOME",
       .shared = true},
  };
}

Option VariantsOption(std::vector<std::string>& target) {
  return {.names = "--variants",
          .value = "FILE",
          .help = "Read variants from FILE; repeat it, later files win",
          .target = &target,
          .default_text = "variants.yaml beside the recipe"};
}

Option SelectOption(std::vector<std::string>& target, const char* help) {
  return {.names = "--select", .value = "KEY=VALUE", .help = help, .target = &target};
}

Option OfflineOption(bool& target, const char* help) {
  return {.names = "--offline", .help = help, .target = &target, .env = "PTPKG_OFFLINE", .shared = true};
}

Option FormatOption(std::vector<std::string>& target, const char* help, const char* default_text) {
  return {
      .names = "--format", .value = "LIST", .help = help, .target = &target, .default_text = default_text};
}

Option TestOption(std::string& target) {
  return {.names = "--test",
          .help = "Run the recipe's tests on the packages, or skip them",
          .target = &target,
          .choices = {"run", "skip"},
          .default_text = "run"};
}

Option CcacheOption(bool& target) {
  return {.names = "--ccache",
          .help = "Cache C, C++ and CUDA object files",
          .target = &target,
          .env = "PTPKG_CCACHE",
          .shared = true};
}

std::vector<Option> RemoteCacheOptions(RemoteCacheFlags& flags) {
  return {{.names = "--remote-cache",
           .value = "URL",
           .help = "Share build results by s3://BUCKET[/PREFIX]",
           .target = &flags.url,
           .env = "PTPKG_REMOTE_CACHE",
           .shared = true},
          {.names = "--remote-cache-read-only",
           .help = "Fetch results from the bucket; upload none",
           .target = &flags.read_only,
           .env = "PTPKG_REMOTE_CACHE_READ_ONLY",
           .shared = true}};
}

Result<pipeline::RemoteCacheOptions> RemoteCacheOf(Context& context, const RemoteCacheFlags& flags,
                                                   const std::set<std::string>& given) {
  Env& env = context.env();
  pipeline::RemoteCacheOptions options{
      .url = flags.url.empty() ? env.Variable("PTPKG_REMOTE_CACHE") : flags.url,
      .read_only = flags.read_only};
  // A machine may have the variable or the setting although a job has no bucket.
  if (options.url.empty()) options.read_only = given.contains("--remote-cache-read-only");
  if (!options.url.empty()) options.read_only |= context.IsSet("PTPKG_REMOTE_CACHE_READ_ONLY");
  PTPKG_CHECK(pipeline::CheckRemoteCache(env, options));
  return options;
}

Option NoPreflightOption(bool& target) {
  return {
      .names = "--no-preflight", .help = "Skip the pre-build checks of 'ptpkg doctor'", .target = &target};
}

Option FromEnvOption(bool& target) {
  return {.names = "--from-env",
          .help = "Read DESIRED_CUDA, MAX_JOBS and others by from_env.yaml",
          .target = &target};
}

Result<void> TakeEnvironment(Context& context, pipeline::RenderRequest& request,
                             std::set<ArtifactFormat>& formats) {
  Env& env = context.env();
  // MAX_JOBS wins over a configuration file, and loses to the command line.
  const bool has_jobs = std::exchange(env.jobs_given, context.flags().given.contains("--jobs"));
  PTPKG_TRY(const std::vector<std::string> lines, pipeline::ApplyEnvironment(env, request, formats));
  env.jobs_given |= has_jobs;
  // A line for each variable: a build whose variant comes from a shell's exports must show it.
  for (const std::string& line : lines) context.Log(line);
  return Ok();
}

Result<pipeline::BuildRequest> RequestOf(Context& context, const RecipeFlags& flags) {
  // PTPKG_OFFLINE has set it already if it is on. The Env carries it, because git, pip, conda and downloads
  // all have to heed it.
  if (flags.offline) context.env().offline = true;
  pipeline::BuildRequest request;
  PTPKG_TRY(request.select, ParseSelect(flags.select));
  PTPKG_TRY(const auto sources, SplitAssignments("--source", flags.sources));
  for (const auto& [name, value] : sources)
    PTPKG_CHECK(pipeline::AddSource(context.env(), name, value, request));
  PTPKG_TRY(request.output, context.Path(flags.output));
  // The parser has refused other words, and a request begins with 'auto'.
  if (flags.host_env == "system") request.host_env = builder::HostEnv::kSystem;
  if (flags.host_env == "conda") request.host_env = builder::HostEnv::kConda;
  if (flags.host_env == "wheels") request.host_env = builder::HostEnv::kWheels;
  PTPKG_TRY(request.tools, ToolOptionsOf(context, flags));
  // Last: a mistake on the command line comes before a missing file.
  PTPKG_TRY(request.recipes, ResolveExisting(context, flags.recipes));
  PTPKG_TRY(request.variant_files, ResolveExisting(context, flags.variant_files));
  return request;
}

Result<std::set<ArtifactFormat>> ParseFormats(const std::vector<std::string>& names) {
  std::set<ArtifactFormat> formats;
  for (const std::string& list : names) {
    // A set, so the order of the names and of the options does not reach the plan.
    for (const std::string& name : Split(list, ',')) {
      const auto format = ParseArtifactFormat(name);
      if (!format) {
        return Error(ErrorCode::kUsage, fmt::format("'{}' is not a package format", name))
            .WithHint("formats are conda, tar.bz2, wheel and zip");
      }
      formats.insert(*format);
    }
  }
  return formats;
}

}  // namespace ptpkg::cli
