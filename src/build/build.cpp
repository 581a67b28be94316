#include "build/build.h"

#include <fmt/core.h>

#include "build/conda_client.h"
#include "build/environment.h"
#include "build/post_process.h"
#include "build/prefix_diff.h"
#include "build/script.h"
#include "build/tools.h"
#include "conda/package_info.h"

namespace ptpkg::build {

namespace {

std::set<std::string> NamesOf(const std::vector<LocalPackage>& packages) {
  std::set<std::string> names;
  for (const LocalPackage& package : packages) names.insert(package.name);
  return names;
}

/// The tools of a build, and what the shell has to do before the script.
struct HostTools {
  ToolSet tools;
  std::string preamble;
};

class Builder {
 public:
  Builder(Env& env, const BuildInput& input) : env_(env), input_(input), recipe_(input.recipe) {}

  Result<StagedBuild> Run() {
    PTPKG_TRY(const HostTools host, MakeHost());
    PTPKG_CHECK(UnpackPackages());
    PTPKG_TRY(const PrefixSnapshot before, PrefixSnapshot::Take(env_, input_.layout.prefix));
    PTPKG_CHECK(RunTheScript(host));
    PTPKG_TRY(const std::vector<RelPath> added, before.Added(env_, input_.layout.prefix));
    PTPKG_TRY(const std::vector<RelPath> selected, SelectFiles(recipe_, added));
    if (selected.empty()) {
      env_.reporter.Warn(fmt::format("the build of '{}' added no file to the prefix", recipe_.FileStem()));
    }
    PTPKG_CHECK(RemoveAllBut(env_, input_.layout.prefix, selected));
    const std::string python = host.tools.python ? host.tools.python->executable.str() : std::string();
    PTPKG_CHECK(PostProcess(env_, {.recipe = recipe_, .layout = input_.layout, .python = python}),
                "while post-processing the build");
    PTPKG_TRY(StagedTree tree, ScanTree(env_, input_.layout.prefix), "while listing what the build made");
    return StagedBuild{
        .tree = std::move(tree),
        .prefix = input_.layout.PrefixPlaceholder(),
        .python_version = host.tools.python ? host.tools.python->MinorVersion() : std::string(),
        .forbidden_paths = ForbiddenPaths()};
  }

 private:
  [[nodiscard]] std::vector<std::string> ForbiddenPaths() const {
    const WorkLayout& layout = input_.layout;
    std::vector<std::string> paths = {layout.home.str(), layout.temp.str()};
    for (const AbsPath& folder : {layout.source, layout.build_prefix}) {
      paths.push_back(layout.RootPlaceholder() + folder.str().substr(layout.root.str().size()));
    }
    return paths;
  }

  Result<HostTools> MakeHost() {
    if (input_.host_env == HostEnv::kConda) {
      const std::optional<AbsPath> client = FindCondaClient(env_);
      if (client) return CondaHost(*client);
      return Error(ErrorCode::kNotFound, "no conda client: neither micromamba, mamba nor conda is on PATH")
          .WithHint("install one, name it with PTPKG_CONDA_EXE, or use --env system");
    }
    PTPKG_TRY(ToolSet tools, FindTools(env_, recipe_, NamesOf(input_.packages)));
    if (tools.missing.empty()) return HostTools{.tools = std::move(tools), .preamble = {}};
    const std::optional<AbsPath> client =
        input_.host_env == HostEnv::kAuto ? FindCondaClient(env_) : std::optional<AbsPath>();
    if (client) return CondaHost(*client);
    return MissingToolsError(recipe_, tools.missing);
  }

  Result<HostTools> CondaHost(const AbsPath& client) {
    const WorkLayout& layout = input_.layout;
    PTPKG_CHECK(CreateCondaPrefix(
        env_, client, {.prefix = layout.build_prefix, .specs = Foreign(recipe_.requirements.build)},
        input_.log_file));
    PTPKG_CHECK(CreateCondaPrefix(env_, client,
                                  {.prefix = layout.prefix, .specs = Foreign(recipe_.requirements.host)},
                                  input_.log_file));
    PTPKG_CHECK(env_.fs.MakeDirs(layout.build_prefix));
    PTPKG_CHECK(env_.fs.MakeDirs(layout.prefix));
    HostTools host;
    const AbsPath python = layout.prefix / "bin/python";
    PTPKG_TRY(const bool has_python, Exists(env_.fs, python));
    if (has_python) {
      PTPKG_TRY(host.tools.python, ProbePython(env_, python, {}));
    }
    // Compilers of conda channels are switched on by these; each knows where it lies.
    host.preamble =
        "for prefix in \"$BUILD_PREFIX\" \"$PREFIX\"; do\n"
        "  for file in \"$prefix\"/etc/conda/activate.d/*.sh; do\n"
        "    if [ -e \"$file\" ]; then CONDA_PREFIX=\"$prefix\" . \"$file\"; fi\n"
        "  done\n"
        "done\n";
    return host;
  }

  /// Without what our own channel provides.
  [[nodiscard]] std::vector<recipe::MatchSpec> Foreign(const std::vector<recipe::MatchSpec>& specs) const {
    const std::set<std::string> own = NamesOf(input_.packages);
    std::vector<recipe::MatchSpec> foreign;
    for (const recipe::MatchSpec& spec : specs) {
      if (!own.contains(spec.name)) foreign.push_back(spec);
    }
    return foreign;
  }

  Result<void> UnpackPackages() {
    PTPKG_ASSERT(input_.packages.empty() || input_.unpack != nullptr);
    for (const LocalPackage& package : input_.packages) {
      PTPKG_CHECK(env_.cancel.Check());
      PTPKG_CHECK(input_.unpack(env_, package.path, input_.layout.prefix),
                  fmt::format("while unpacking '{}' into the host prefix", package.path.Name()));
    }
    return Ok();
  }

  Result<void> RunTheScript(const HostTools& host) {
    PTPKG_TRY(const std::optional<std::string> text, ScriptText(env_.fs, recipe_));
    if (!text) return Ok();
    const EnvironmentInput environment{
        .recipe = recipe_, .layout = input_.layout, .source_root = input_.source_root, .tools = host.tools};
    return RunScript(env_,
                     {.build = input_,
                      .text = *text,
                      .variables = ScriptEnvironment(env_, environment),
                      .preamble = recipe_.script.interpreter == "bash" ? host.preamble : std::string()});
  }

  Env& env_;
  const BuildInput& input_;
  const recipe::Recipe& recipe_;
};

void AddSpecs(KeyHasher& hasher, std::string_view name, const std::vector<recipe::MatchSpec>& specs) {
  for (const recipe::MatchSpec& spec : specs) hasher.Add(name, spec.str());
}

}  // namespace

Result<StagedBuild> Run(Env& env, const BuildInput& input) { return Builder(env, input).Run(); }

Result<std::string> RecipeKey(Env& env, const recipe::Recipe& recipe) {
  PTPKG_TRY(const std::optional<std::string> text, ScriptText(env.fs, recipe));
  KeyHasher hasher;
  // All of these reach the script, by name or through its environment.
  hasher.Add("name", recipe.name).Add("version", recipe.version).Add("subdir", recipe.subdir);
  hasher.Add("build_string", recipe.build_string).Add("build_number", std::to_string(recipe.build_number));
  hasher.Add("script", text.value_or("")).Add("interpreter", recipe.script.interpreter);
  for (const auto& [key, value] : recipe.script.env) hasher.Add("env", key).Add("value", value);
  for (const auto& [key, value] : recipe.variant) hasher.Add("variant", key).Add("value", value);
  AddSpecs(hasher, "build", recipe.requirements.build);
  AddSpecs(hasher, "host", recipe.requirements.host);
  for (const std::string& glob : recipe.files_include) hasher.Add("include", glob);
  for (const std::string& glob : recipe.files_exclude) hasher.Add("exclude", glob);
  return hasher.Finish().Hex();
}

Result<std::string> ToolKey(Env& env, const recipe::Recipe& recipe, HostEnv host_env) {
  KeyHasher hasher;
  hasher.Add("host_env", std::to_string(static_cast<int>(host_env)));
  if (host_env != HostEnv::kSystem) {
    const std::optional<AbsPath> client = FindCondaClient(env);
    hasher.Add("client", client ? client->str() : "");
  }
  if (host_env == HostEnv::kConda) return hasher.Finish().Hex();
  PTPKG_TRY(const ToolSet tools, FindTools(env, recipe, {}));
  std::vector<AbsPath> files = tools.debian_records;
  for (const Tool& tool : tools.tools) files.push_back(tool.path);
  for (const AbsPath& file : files) {
    // As ccache does by default: size and time stand for the content of a compiler.
    PTPKG_TRY(const FileStat stat, env.fs.Stat(file));
    hasher.Add("tool", file.str());
    hasher.Add("stat", fmt::format("{} {}", stat.size_bytes, stat.mtime_ns));
  }
  if (tools.python) {
    hasher.Add("python", tools.python->executable.str()).Add("version", tools.python->version);
    for (const auto& [name, version] : tools.python->packages) hasher.Add(name, version);
  }
  for (const MissingTool& missing : tools.missing) hasher.Add("missing", missing.requirement);
  return hasher.Finish().Hex();
}

}  // namespace ptpkg::build
