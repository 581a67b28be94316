#include "cli/verbs/recipe_flags.h"

#include <fmt/core.h>

#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

/// A program as a flag names it: one with '/' is a path from the working directory, others are looked up.
Result<std::string> ProgramName(const Context& context, const std::string& text) {
  if (text.find('/') == std::string::npos) return text;
  PTPKG_TRY(const AbsPath path, context.Path(text));
  return path.str();
}

/// What the flags name goes into the plan, so that its nodes find the same programs on another day.
Result<builder::ToolOptions> ToolOptionsOf(const Context& context, const RecipeFlags& flags) {
  std::vector<std::string> interpreters;
  for (const std::string& text : Split(flags.python_exe, ':')) {
    PTPKG_TRY(std::string name, ProgramName(context, text));
    interpreters.push_back(std::move(name));
  }
  builder::ToolOptions options{.python = Join(interpreters, ":")};
  PTPKG_TRY(options.conda_exe, ProgramName(context, flags.conda_exe));
  std::vector<std::string> toolkits;
  for (const std::string& text : Split(flags.cuda_home, ':')) {
    if (text.empty()) continue;
    PTPKG_TRY(const AbsPath path, context.Path(text));
    toolkits.push_back(path.str());
  }
  options.cuda_home = Join(toolkits, ":");
  return options;
}

}  // namespace

std::vector<Option> RecipeOptions(RecipeFlags& flags, const char* output) {
  return {
      {.names = "--variants",
       .value = "FILE",
       .help =
           "Variant file, may be repeated; later ones win per key (default: variants.yaml beside the recipe)",
       .target = &flags.variant_files},
      {.names = "--select",
       .value = "KEY=VALUE",
       .help = "Only variants with this value; may be repeated",
       .target = &flags.select},
      {.names = "-o,--output", .value = "DIR", .help = output, .target = &flags.output},
      {.names = "--source",
       .value = "NAME=PATH",
       .help =
           "Take the source of package NAME from a folder, an archive, or a git repository (REPOSITORY@TAG, "
           "git+URL@TAG); may be repeated",
       .target = &flags.sources},
      {.names = "--offline",
       .help = "Ask no server: what the cache lacks is an error (default: PTPKG_OFFLINE)",
       .target = &flags.offline},
      {.names = "--env",
       .help = "Where build tools and libraries come from (default: auto)",
       .target = &flags.host_env,
       .choices = {"auto", "system", "wheels", "conda"}},
      {.names = "--python-exe",
       .value = "FILE",
       .help = "Interpreter for builds, or several separated by ':' (default: PTPKG_PYTHON, else "
               "pythonX.Y or python3 on PATH)",
       .target = &flags.python_exe},
      {.names = "--conda-exe",
       .value = "FILE",
       .help = "Conda client that makes prefixes (default: PTPKG_CONDA_EXE, else micromamba, mamba or conda "
               "on PATH)",
       .target = &flags.conda_exe},
      {.names = "--cuda-home",
       .value = "DIR",
       .help = "CUDA toolkit for builds, or several separated by ':'; each variant takes the first of its "
               "version (default: PTPKG_CUDA_HOME, else PATH, CUDA_HOME, /usr/local/cuda*)",
       .target = &flags.cuda_home},
  };
}

Result<pipeline::BuildRequest> RequestOf(Context& context, const RecipeFlags& flags) {
  if (flags.offline) context.env().offline = true;
  pipeline::BuildRequest request;
  PTPKG_TRY(request.recipes, ResolvePaths(context, flags.recipes));
  PTPKG_TRY(request.variant_files, ResolvePaths(context, flags.variant_files));
  PTPKG_TRY(request.select, ParseSelect(flags.select));
  for (const std::string& text : flags.sources) {
    PTPKG_TRY(const auto assignment, SplitAssignment("--source", text));
    PTPKG_CHECK(pipeline::AddSource(context.env(), assignment.first, assignment.second, request));
  }
  PTPKG_TRY(request.output, context.Path(flags.output));
  if (flags.host_env == "system") request.host_env = builder::HostEnv::kSystem;
  if (flags.host_env == "conda") request.host_env = builder::HostEnv::kConda;
  if (flags.host_env == "wheels") request.host_env = builder::HostEnv::kWheels;
  PTPKG_TRY(request.tools, ToolOptionsOf(context, flags));
  return request;
}

Result<std::set<ArtifactFormat>> ParseFormats(const std::vector<std::string>& names) {
  std::set<ArtifactFormat> formats;
  for (const std::string& list : names) {
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
