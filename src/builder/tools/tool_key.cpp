// A key of the tools must change when their output may, and must be equal on machines with equal tools. So it
// holds versions and contents, and no path.
//
// - Programs: `--version` without lines that hold a path, and the digest of the file. A script's first line
//   is left out, because it names the interpreter's place. A driver such as gcc is small, so its version
//   stands for the compiler.
// - Headers stand for their libraries, with the versions of the Debian packages that own them.
// - With a conda client, the packages that a dry run would install. Without such a list, a warning says that
//   new versions go unnoticed.
//
// Reading the contents costs about 20 ms per recipe (25 MB).

#include "builder/tools/tool_key.h"

#include <algorithm>
#include <fmt/core.h>

#include "builder/pip/wheel_prefix.h"
#include "builder/tools/conda_client.h"
#include "support/assert.h"
#include "support/digest/hash.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

/// A tool's version text, without the lines that hold a path: clang prints where it is installed.
Result<std::string> VersionText(Env& env, const AbsPath& program) {
  Command command;
  command.argv = {program.str(), "--version"};
  command.env = {{"PATH", PathVariable(env.variables)}, {"LC_ALL", "C"}};
  command.cancel = &env.cancel;
  PTPKG_TRY(const ExitStatus status, env.process.Run(command));
  if (!status.ok()) return std::string();
  std::string text;
  for (const std::string& line : SplitLines(status.output)) {
    // A path in the text would make keys differ between machines.
    if (line.find('/') == std::string::npos) text += line + "\n";
  }
  return text;
}

/// Digest of the file behind `program`. The first line of a script names the place of its interpreter.
/// A driver such as gcc is small and calls the compiler; its version stands for that one. The tools of a
/// recipe have about 25 MB, read in 20 ms.
Result<std::string> ContentDigest(Env& env, const AbsPath& program) {
  PTPKG_TRY(const AbsPath file, env.fs.RealPath(program.str()));
  PTPKG_TRY(const FileStat stat, env.fs.Stat(file));
  constexpr std::uint64_t kLargestScript = 1U << 20U;
  if (stat.size_bytes <= kLargestScript) {
    PTPKG_TRY(const std::string text, ReadFile(env.fs, file));
    const std::size_t line = text.starts_with("#!") ? text.find('\n') : 0;
    return HashText(line == std::string::npos ? std::string_view() : std::string_view(text).substr(line))
        .Hex();
  }
  PTPKG_TRY(const Digests digests, HashFile(env.fs, file));
  return digests.sha256.Hex();
}

Result<void> AddProgram(Env& env, std::string_view name, const AbsPath& path, KeyHasher& hasher) {
  PTPKG_TRY(const std::string version, VersionText(env, path));
  PTPKG_TRY(const std::string digest, ContentDigest(env, path),
            fmt::format("while reading '{}'", path.str()));
  hasher.Add("program", name).Add("version", version).Add("content", digest);
  return Ok();
}

Result<std::string> CondaKey(Env& env, const HostPlan& plan) {
  KeyHasher hasher;
  hasher.Add("host_env", "conda");
  for (const auto* specs : {&plan.build, &plan.host}) {
    hasher.Add("prefix", specs == &plan.build ? "build" : "host");
    if (specs->empty()) continue;
    PTPKG_ASSERT(plan.client.has_value());
    PTPKG_TRY(const auto packages, SolvedPackages(env, *plan.client, *specs));
    if (!packages) {
      env.reporter.Warn(
          fmt::format("'{}' cannot list its packages: ptpkg does not detect new versions there and will not "
                      "rebuild for them",
                      plan.client->Name()));
      continue;
    }
    for (const std::string& package : *packages) hasher.Add("package", package);
  }
  return hasher.Finish().Hex();
}

void AddWheels(const WheelPlan& plan, KeyHasher& hasher) {
  hasher.Add("wheel layout", kWheelLayout);
  for (const WheelPin& pin : plan.wheels.pins) {
    hasher.Add("use", std::to_string(static_cast<int>(pin.use)))
        .Add("wheel", pin.name)
        .Add("version", pin.version)
        .Add("content", pin.sha256.Hex());
  }
}

/// Version of the wheel that meets a requirement.
std::string WheelVersion(const WheelPlan& plan, const std::string& requirement) {
  const auto row = FindWheelRow(BuiltInWheelTable(), requirement);
  const std::string major = plan.toolkit.substr(0, plan.toolkit.find('.'));
  const std::string package = row ? ReplaceAll(row->package, "{major}", major) : "";
  for (const WheelPin& pin : plan.wheels.pins) {
    if (pin.name == package) return pin.version;
  }
  return "";
}

}  // namespace

Result<std::string> ProgramKey(Env& env, const AbsPath& program) {
  KeyHasher hasher;
  PTPKG_CHECK(AddProgram(env, program.Name(), program, hasher));
  return hasher.Finish().Hex();
}

Result<std::string> ToolOrigins(Env& env, const HostPlan& plan) {
  std::vector<std::string> parts;
  if (plan.host_env == HostEnv::kConda) {
    return fmt::format("everything from conda ('{}')", plan.client ? plan.client->Name() : "");
  }
  for (const Tool& tool : plan.tools.tools) {
    PTPKG_TRY(const std::string version, ProgramVersion(env, tool.path));
    parts.push_back(fmt::format("{} {} from system", tool.requirement, version));
  }
  if (plan.tools.python) {
    parts.push_back(fmt::format("python {} from system", plan.tools.python->version));
    for (const auto& [name, version] : plan.tools.python->packages) {
      parts.push_back(fmt::format("{} {} from system", name, version));
    }
  }
  if (plan.wheels) {
    for (const std::string& name : plan.wheels->wheels.names) {
      parts.push_back(fmt::format("{} {} from wheels", name, WheelVersion(*plan.wheels, name)));
    }
  }
  return Join(parts, ", ");
}

Result<std::map<std::string, std::string>> ToolVersions(Env& env, const HostPlan& plan) {
  std::map<std::string, std::string> versions;
  if (plan.host_env == HostEnv::kConda) return versions;
  for (const Tool& tool : plan.tools.tools) {
    PTPKG_TRY(versions[std::string(tool.path.Name())], ProgramVersion(env, tool.path));
  }
  if (plan.tools.python) versions["python"] = plan.tools.python->version;
  return versions;
}

Result<std::string> ToolKey(Env& env, const HostPlan& plan) {
  if (plan.host_env == HostEnv::kConda) return CondaKey(env, plan);
  KeyHasher hasher;
  hasher.Add("host_env", "system");
  std::vector<Tool> tools = plan.tools.tools;
  std::sort(tools.begin(), tools.end(),
            [](const Tool& a, const Tool& b) { return a.requirement < b.requirement; });
  for (const Tool& tool : tools) {
    PTPKG_CHECK(AddProgram(env, tool.path.Name(), tool.path, hasher));
    // nvcc prefers the gcc in its own directory, which no requirement names.
    if (tool.toolkit && tool.toolkit->host_compiler)
      PTPKG_CHECK(AddProgram(env, "gcc of nvcc", *tool.toolkit->host_compiler, hasher));
  }
  if (plan.tools.python) {
    const Python& python = *plan.tools.python;
    PTPKG_TRY(const std::string digest, ContentDigest(env, python.base_executable),
              fmt::format("while reading '{}'", python.base_executable.str()));
    hasher.Add("python", python.version).Add("content", digest);
    for (const auto& [name, version] : python.packages) hasher.Add("package", name).Add("version", version);
  }
  if (plan.wheels) AddWheels(*plan.wheels, hasher);
  for (const AbsPath& header : plan.tools.headers) {
    PTPKG_TRY(const Digests digests, HashFile(env.fs, header));
    hasher.Add("header", header.Name()).Add("content", digests.sha256.Hex());
  }
  for (const auto& [name, version] : plan.tools.debian_packages) {
    hasher.Add("debian", name).Add("version", version);
  }
  return hasher.Finish().Hex();
}

}  // namespace ptpkg::builder
