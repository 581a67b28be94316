// A development environment is the host prefix of a build that no build owns. So the parts are those of a
// build: an in-memory recipe with the packages as requirements, CheckTools, HostPrefix, ScriptEnvironment.
// Different are the prefix, which is one directory of the user's choice, and the variables: only those that
// find tools, since the shell stays the user's own.
//
// A prefix cannot be moved, so it is made in place, and removed after a failure. The activation file comes
// last: a directory without it is not an environment.

#include "pipeline/environment/create_environment.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <iterator>
#include <utility>

#include "builder/env/environment.h"
#include "builder/env/host.h"
#include "builder/resume/work_layout.h"
#include "builder/tools/conda_client.h"
#include "builder/tools/tool_table.h"
#include "pipeline/environment/environment_cuda.h"
#include "support/files/locked_file.h"
#include "support/process/shared_variables.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

using builder::HostEnv;

/// Programs are requirements of the build, all else of the host: headers and Python packages.
recipe::Recipe RecipeOf(const EnvironmentSpec& spec) {
  recipe::Recipe recipe;
  recipe.name = spec.name.empty() ? "environment" : spec.name;
  bool has_python = false;
  for (const EnvironmentPackage& package : spec.packages) {
    const auto provider = builder::FindProvider(package.spec.name);
    const bool is_program = !provider || provider->kind == builder::ProviderKind::kProgram;
    has_python |= package.spec.name == "python";
    (is_program ? recipe.requirements.build : recipe.requirements.host).push_back(package.spec);
  }
  if (!spec.pip.empty() || !spec.requirement_files.empty()) {
    if (!has_python) recipe.requirements.host.push_back({.name = "python"});
    recipe.requirements.host.push_back({.name = "pip"});
  }
  return recipe;
}

/// Makes the prefix with all packages at once, and with the channels of the files, which no build has.
/// Leaves nothing of `plan` to install.
Result<void> MakeCondaPrefix(Env& env, const EnvironmentSpec& spec, builder::HostPlan& plan,
                             const builder::CondaPrefix& empty, const AbsPath& log) {
  builder::CondaPrefix prefix = empty;
  std::ranges::move(std::exchange(plan.build, {}), std::back_inserter(prefix.specs));
  std::ranges::move(std::exchange(plan.host, {}), std::back_inserter(prefix.specs));
  for (const EnvironmentPackage& package : spec.packages) {
    const auto found = std::ranges::find(prefix.specs, package.spec);
    if (!package.channel.empty() && found != prefix.specs.end())
      found->name = package.channel + "::" + found->name;
  }
  return builder::CreateCondaPrefix(env, *plan.client, prefix, log);
}

builder::WorkLayout LayoutOf(const AbsPath& prefix, HostEnv provider) {
  const AbsPath tools = provider == HostEnv::kWheels ? prefix / "build" : prefix;
  return {.root = prefix,
          .source = prefix,
          .prefix = prefix,
          .build_prefix = tools,
          .recipe_copy = prefix,
          .home = prefix,
          .temp = prefix};
}

/// pip reads its own configuration, as in the user's shell.
Result<void> InstallWithPip(Env& env, const EnvironmentSpec& spec, const AbsPath& prefix,
                            const AbsPath& log) {
  if (spec.pip.empty() && spec.requirement_files.empty()) return Ok();
  Command command{.argv = {(prefix / "bin/python").str(), "-m", "pip", "install", "--no-input",
                           "--disable-pip-version-check", "--progress-bar", "off"}};
  if (env.offline) command.argv.emplace_back("--no-index");
  for (const AbsPath& file : spec.requirement_files)
    command.argv.insert(command.argv.end(), {"-r", file.str()});
  command.argv.insert(command.argv.end(), spec.pip.begin(), spec.pip.end());
  command.env = SharedVariables(env);
  command.cwd = env.cwd;  // relative paths in the files, as for pip in the user's shell
  command.log_file = log;
  command.cancel = &env.cancel;
  Task task(env.reporter, {.stage = "source", .subject = "pip"});
  command.on_line = [&](std::string_view line) { task.ChildOutput(line); };
  PTPKG_TRY(const ExitStatus status, env.process.Run(command), "while running pip");
  if (!status.ok()) {
    std::vector<std::string> lines = SplitLines(Trim(status.output));
    constexpr std::size_t kMostLines = 10;
    if (lines.size() > kMostLines) lines.erase(lines.begin(), lines.end() - kMostLines);
    return Error(ErrorCode::kCommandFailed, "pip could not install the requirements: " + Join(lines, "\n  "))
        .WithHint(fmt::format("full output: '{}'", log.str()));
  }
  task.Done();
  return Ok();
}

/// Lines "export NAME=VALUE" for the variables by which build systems find the tools.
std::string Exports(std::map<std::string, std::string> variables, const EnvironmentSpec& spec,
                    const builder::HostPlan& plan, const AbsPath& prefix) {
  constexpr auto kTaken = std::to_array<std::string_view>(
      {"CC", "CXX", "FC", "CUDACXX", "CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT", "CMAKE_PREFIX_PATH",
       "PKG_CONFIG_PATH", "CMAKE_GENERATOR", "VIRTUAL_ENV"});
  std::vector<std::string> folders = Split(variables["PATH"], ':');
  std::erase_if(folders, [](const std::string& folder) { return folder == "/usr/bin" || folder == "/bin"; });
  std::erase_if(variables,
                [&](const auto& one) { return std::ranges::find(kTaken, one.first) == kTaken.end(); });
  if (plan.host_env == HostEnv::kConda) variables["CONDA_PREFIX"] = prefix.str();
  for (const auto& [name, value] : spec.variables) variables[name] = value;
  std::string text;
  for (const auto& [name, value] : variables)
    text += fmt::format("export {}={}\n", name, ShellQuote({value}));
  return text + fmt::format("export PATH={}:\"$PATH\"\n", ShellQuote({Join(folders, ":")}));
}

/// Conda's own scripts run too, in the shell of the user: so the text compares the environment before and
/// after, and prints all that differs.
std::string ActivationText(const std::string& exports, const std::string& preamble, const AbsPath& prefix) {
  std::string text = "# Written by 'ptpkg env create', for bash. A new shell leaves the environment.\n";
  text += "ptpkg_before=$(env | LC_ALL=C sort)\n" + exports;
  if (!preamble.empty())
    text += fmt::format("PREFIX={} BUILD_PREFIX=\n{}unset PREFIX BUILD_PREFIX prefix file\n",
                        ShellQuote({prefix.str()}), preamble);
  return text +
         "LC_ALL=C comm -13 <(echo \"$ptpkg_before\") <(env | LC_ALL=C sort) | grep -v '^_=' >&2 || true\n"
         "unset ptpkg_before\n";
}

Result<HostEnv> Fill(Env& env, const CreateRequest& request, const EnvironmentSpec& spec,
                     const AbsPath& log) {
  const recipe::Recipe recipe = RecipeOf(spec);
  PTPKG_TRY(
      builder::HostPlan plan,
      builder::CheckTools(env, recipe,
                          {.host_env = request.provider, .options = request.tools, .output_channel = false}));
  if (plan.host_env == HostEnv::kConda) {
    PTPKG_CHECK(MakeCondaPrefix(env, spec, plan,
                                {.prefix = request.prefix, .specs = {}, .channels = spec.channels}, log));
  } else if (request.requires_channels) {
    return Error(ErrorCode::kUsage, "--channel is for a conda client, but the tools come from elsewhere")
        .WithHint("add --env conda, or leave --channel out");
  } else if (!spec.channels.empty()) {
    env.reporter.Note("conda channels are not used, because no conda client gives the packages");
  }
  const builder::WorkLayout layout = LayoutOf(request.prefix, plan.host_env);
  if (plan.wheels) PTPKG_CHECK(env.fs.MakeDirs(layout.build_prefix));
  const builder::UnpackFunction unpack;  // no packages of the output channel
  PTPKG_TRY(
      builder::HostPrefix host,
      builder::HostPrefix::Create(env, {.plan = plan, .layout = layout, .unpack = unpack, .log_file = log}));
  PTPKG_CHECK(host.FinishPython());
  PTPKG_CHECK(InstallWithPip(env, spec, request.prefix, log));
  const auto variables = builder::ScriptEnvironment(
      env, {.recipe = recipe, .layout = layout, .source_root = layout.source, .tools = host.tools()});
  PTPKG_CHECK(WriteFile(
      env.fs, request.prefix / "activate.sh",
      ActivationText(Exports(variables, spec, plan, request.prefix), host.preamble(), request.prefix)));
  return plan.host_env;
}

/// Makes the log, or empties that of an earlier run, and locks it: so it shows who makes the prefix, which a
/// conda client wants to be empty. Nobody else gives a file this name, but a directory or a link is not the
/// log of an earlier run.
Result<LockedFile> TakeLog(Env& env, const AbsPath& prefix, const AbsPath& log) {
  PTPKG_CHECK(env.fs.MakeDirs(log.Parent()));
  constexpr int kAttempts = 100;  // each is lost only to a run that has just ended
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Result<FileStat> stat = env.fs.Lstat(log);
    if (stat && stat->kind != FileKind::kRegular) {
      return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' is in the way of the log", log.str()))
          .WithHint("move it away, or choose another --prefix");
    }
    if (!stat) {
      const auto made = env.fs.Open(log, OpenMode::kCreateNew);
      if (!made && made.error().code() != ErrorCode::kAlreadyExists) return made.error();
    }
    PTPKG_TRY(LockedFile held, TryLockFile(env.fs, log, LockKind::kExclusive));
    if (held.state == LockState::kBusy) {
      return Error(ErrorCode::kAlreadyExists,
                   fmt::format("another 'ptpkg env create' is making '{}'", prefix.str()))
          .WithHint("wait until it ends, or choose another --prefix");
    }
    if (held.state == LockState::kGone) continue;
    PTPKG_CHECK(held.file->Truncate(0));
    return held;
  }
  return Error(ErrorCode::kIo, fmt::format("cannot lock '{}': it keeps disappearing", log.str()));
}

/// Returns whether it existed.
Result<bool> MakePrefix(Env& env, const AbsPath& prefix) {
  PTPKG_TRY(const bool exists, Exists(env.fs, prefix));
  if (!exists) {
    PTPKG_CHECK(env.fs.MakeDirs(prefix));
    return false;
  }
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(prefix));
  if (names.empty()) return true;
  return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' is not empty", prefix.str()))
      .WithHint(fmt::format("name a new directory, or remove it: rm -r {}", ShellQuote({prefix.str()})));
}

/// `prefix` can be a link, whose target must not keep files.
void RemoveContent(Env& env, const AbsPath& prefix) {
  const auto names = env.fs.ListDir(prefix);
  if (!names) return;
  for (const std::string& name : *names) static_cast<void>(RemoveTree(env.fs, prefix / name));
}

/// After a failure `prefix` is as before.
Result<HostEnv> MakeAndFill(Env& env, const CreateRequest& request, const EnvironmentSpec& spec,
                            const AbsPath& log) {
  PTPKG_TRY(const bool existed, MakePrefix(env, request.prefix));
  Result<HostEnv> provider = Fill(env, request, spec, log);
  if (provider) return provider;
  if (existed) {
    RemoveContent(env, request.prefix);
  } else {
    static_cast<void>(RemoveTree(env.fs, request.prefix));
  }
  return provider;
}

}  // namespace

Result<CreatedEnvironment> CreateEnvironment(Env& env, const CreateRequest& request) {
  PTPKG_CHECK(builder::CheckWorkFolder(request.prefix));
  PTPKG_TRY(const EnvironmentSpec spec, ReadEnvironmentSpec(env, request.contents));
  if (HasCudaPatch(request.contents.cuda) && request.provider != HostEnv::kConda) {
    return Error(ErrorCode::kUsage, fmt::format("--cuda {}: only conda's packages have the patch version",
                                                request.contents.cuda))
        .WithHint(fmt::format("add --env conda, or write --cuda {}", MajorMinor(request.contents.cuda)));
  }
  if (spec.packages.empty() && spec.pip.empty() && spec.requirement_files.empty())
    return Error(ErrorCode::kUsage, "the inputs name no package, so the environment would be empty");
  const AbsPath log = request.prefix.Parent() / (std::string(request.prefix.Name()) + ".env-create.log");
  PTPKG_TRY(const LockedFile lock, TakeLog(env, request.prefix, log));
  const Result<HostEnv> provider = MakeAndFill(env, request, spec, log);
  if (!provider) {
    PTPKG_TRY(const FileStat written, lock.file->Stat());
    if (written.size_bytes == 0) static_cast<void>(env.fs.Remove(log));
    return provider.error();
  }
  PTPKG_CHECK(env.fs.Remove(log));
  return CreatedEnvironment{.activate = request.prefix / "activate.sh", .provider = *provider};
}

}  // namespace ptpkg::pipeline
