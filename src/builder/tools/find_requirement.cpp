#include "builder/tools/find_requirement.h"

#include <fmt/core.h>

#include "support/text/text.h"
#include "versions/version_spec.h"

namespace ptpkg::builder {

namespace {

std::optional<std::string> InstalledVersion(const ToolSources& sources, const ToolRequirement& requirement) {
  if (!sources.python) return std::nullopt;
  for (const std::string& name : requirement.Distributions()) {
    const auto found = sources.python->packages.find(name);
    if (found != sources.python->packages.end()) return found->second;
  }
  return std::nullopt;
}

MissingTool Missing(const ToolSources& sources, const ToolRequirement& requirement, std::string reason) {
  MissingTool missing{.name = requirement.spec.name,
                      .requirement = requirement.spec.str(),
                      .reason = std::move(reason),
                      .debian_package = "",
                      .pip_requirement = ""};
  if (requirement.provider) missing.debian_package = requirement.provider->debian;
  const bool by_pip = requirement.Is(ProviderKind::kPythonPackage) || InstalledVersion(sources, requirement);
  if (by_pip) {
    missing.pip_requirement = PipRequirement(requirement.Distributions().front(), requirement.spec.version);
  }
  return missing;
}

/// The program at `path` as an answer; `missing` is set too if its version does not fit.
Result<ToolAnswer> TakeProgram(Env& env, const ToolSources& sources, const ToolRequirement& requirement,
                               const AbsPath& path) {
  const std::string_view variable = requirement.provider ? requirement.provider->variable : "";
  ToolAnswer answer{.tool = Tool{.requirement = requirement.spec.name,
                                 .path = path,
                                 .variable = std::string(variable),
                                 .toolkit = requirement.IsNvcc() ? sources.nvcc.toolkit : std::nullopt}};
  if (!requirement.HasConstraint()) return answer;
  PTPKG_TRY(const std::string version, ProgramVersion(env, path));
  PTPKG_TRY(const bool fits, VersionFits(version, requirement.spec.version));
  if (fits) return answer;
  answer.missing =
      Missing(sources, requirement,
              fmt::format("'{}' is version {}{}", path.str(), version.empty() ? "unknown" : version,
                          requirement.IsNvcc() ? sources.nvcc.others : ""));
  // Debian would say that it has the newest one already.
  answer.missing->debian_package.clear();
  answer.missing->unfit_program = std::string(path.Name());
  return answer;
}

Result<ToolAnswer> FindProgramFor(Env& env, const ToolSources& sources, const ToolRequirement& requirement) {
  std::optional<AbsPath> path = requirement.IsNvcc() ? sources.nvcc.path : std::nullopt;
  // With its packages Python brings programs, such as cmake and ninja of the Python index.
  const std::string search =
      sources.python ? sources.search + ":" + sources.python->program_folder.str() : sources.search;
  const std::vector<std::string> names = Split(requirement.provider->probes, ' ');
  for (const std::string& name : names) {
    if (path) break;
    path = FindProgram(name, search);
  }
  if (path) return TakeProgram(env, sources, requirement, *path);
  return ToolAnswer{
      .missing = Missing(sources, requirement, fmt::format("program '{}' is not on PATH", names.front()))};
}

Result<ToolAnswer> FindPackage(const ToolSources& sources, const ToolRequirement& requirement) {
  ToolAnswer answer{.from_python = true};
  if (!sources.python) return answer;  // that there is no interpreter is said once
  const std::optional<std::string> version = InstalledVersion(sources, requirement);
  const std::string& python = sources.python->executable.str();
  if (!version) {
    answer.missing =
        Missing(sources, requirement,
                fmt::format("'{}' has no package '{}'", python, requirement.Distributions().front()));
    return answer;
  }
  if (!requirement.HasConstraint()) return answer;
  PTPKG_TRY(const bool fits, VersionFits(*version, requirement.spec.version));
  if (!fits) {
    answer.missing = Missing(sources, requirement, fmt::format("'{}' has version {}", python, *version));
  }
  return answer;
}

/// Directories to search for a header. A toolkit's lies beside its nvcc, not elsewhere: /usr/local/include
/// may have another toolkit's. Debian's own toolkit has no nvcc.profile there, and its headers in the usual
/// directories. Others may have been put beside the toolkit's, as cuDNN is from its archive, and nvcc takes
/// those first.
std::vector<AbsPath> IncludeFolders(const ToolSources& sources, const ToolRequirement& requirement) {
  std::vector<AbsPath> folders;
  if (sources.nvcc.toolkit && sources.nvcc.toolkit->has_profile) folders = sources.nvcc.toolkit->includes;
  if (requirement.Is(ProviderKind::kToolkit) && !folders.empty()) return folders;
  for (const char* usual : {"/usr/include", "/usr/local/include", "/usr/include/x86_64-linux-gnu",
                            "/usr/include/aarch64-linux-gnu"}) {
    folders.push_back(AbsPath::Literal(usual));
  }
  return folders;
}

const char* HintOfWheels(const ToolSources& sources) {
  return sources.host_env == HostEnv::kWheels ? "" : "; --env wheels takes it from the Python index";
}

/// Compares a part of the toolkit, whose headers exist, with its constraint.
Result<std::optional<MissingTool>> CheckToolkitVersion(Env& env, const ToolSources& sources,
                                                       const ToolRequirement& requirement) {
  const std::optional<AbsPath>& nvcc = sources.nvcc.path;
  if (!nvcc || !requirement.IsNumberedAsNvcc()) {
    return std::optional(Missing(sources, requirement,
                                 fmt::format("cannot detect the installed version of '{}'{}",
                                             requirement.spec.name, HintOfWheels(sources))));
  }
  PTPKG_TRY(const std::string version, ProgramVersion(env, *nvcc));
  PTPKG_TRY(const bool fits, VersionFits(version, requirement.spec.version));
  if (fits) return std::optional<MissingTool>();
  return std::optional(Missing(
      sources, requirement,
      fmt::format("the toolkit of '{}' is version {}{}{}", nvcc->str(), version.empty() ? "unknown" : version,
                  sources.nvcc.others, HintOfWheels(sources))));
}

Result<ToolAnswer> FindHeader(Env& env, const ToolSources& sources, const ToolRequirement& requirement) {
  const bool of_toolkit = requirement.Is(ProviderKind::kToolkit);
  const std::vector<AbsPath> folders = IncludeFolders(sources, requirement);
  ToolAnswer answer;
  for (const std::string& header : Split(requirement.provider->probes, ' ')) {
    std::optional<AbsPath> found;
    for (const AbsPath& folder : folders) {
      const AbsPath path = folder / header;
      PTPKG_TRY(const bool there, Exists(env.fs, path));
      if (there && !found) found = path;
    }
    if (found) {
      answer.headers.push_back(*found);
      const std::string_view debian = requirement.provider->debian;
      if (!debian.empty()) answer.header_packages.emplace_back(debian);
      continue;
    }
    // Header-only libraries such as pybind11 come as Python packages too.
    if (InstalledVersion(sources, requirement)) {
      PTPKG_TRY(ToolAnswer package, FindPackage(sources, requirement));
      answer.from_python = package.from_python;
      answer.missing = std::move(package.missing);
      return answer;
    }
    answer.missing = Missing(
        sources, requirement,
        fmt::format("header '{}' is not installed{}", header, of_toolkit ? HintOfWheels(sources) : ""));
    return answer;
  }
  if (of_toolkit && requirement.HasConstraint()) {
    PTPKG_TRY(answer.missing, CheckToolkitVersion(env, sources, requirement));
  }
  return answer;
}

/// A name that the table does not have: a distribution that Python has, or, for the build, a program.
Result<ToolAnswer> FindUnknown(Env& env, const ToolSources& sources, const ToolRequirement& requirement) {
  if (InstalledVersion(sources, requirement)) return FindPackage(sources, requirement);
  const std::string& name = requirement.spec.name;
  if (requirement.in_build) {
    const std::optional<AbsPath> path = FindProgram(name, sources.search);
    if (path) return TakeProgram(env, sources, requirement, *path);
  }
  std::string reason = sources.output_channel ? "it is not in the output channel, and " : "";
  reason += sources.python ? fmt::format("'{}' has not installed it", sources.python->executable.str())
                           : "--env system has no such tool";
  // compiler() makes a name of the language where no variant names the compiler.
  constexpr std::string_view kPlatform = "_linux-64";
  if (name.ends_with(kPlatform)) {
    reason += fmt::format("; set '{}_compiler' in variants.yaml to choose a compiler",
                          name.substr(0, name.size() - kPlatform.size()));
  }
  return ToolAnswer{.missing = Missing(sources, requirement, std::move(reason))};
}

}  // namespace

std::vector<std::string> ToolRequirement::Distributions() const {
  if (Is(ProviderKind::kPythonPackage)) return {std::string(provider->probes)};
  std::vector<std::string> names = {spec.name};
  constexpr std::string_view kPrefix = "python-";
  if (spec.name.starts_with(kPrefix)) names.push_back(spec.name.substr(kPrefix.size()));
  return names;
}

Result<bool> VersionFits(const std::string& text, const std::string& constraint) {
  const auto version = versions::Version::Parse(text);
  if (!version) return false;
  PTPKG_TRY(const versions::VersionSpec allowed, versions::VersionSpec::Parse(constraint));
  return allowed.Matches(*version);
}

Result<ToolAnswer> FindRequirement(Env& env, const ToolSources& sources, const ToolRequirement& requirement) {
  if (!requirement.provider) return FindUnknown(env, sources, requirement);
  switch (requirement.provider->kind) {
    case ProviderKind::kProgram:
      return FindProgramFor(env, sources, requirement);
    case ProviderKind::kHeader:
    case ProviderKind::kToolkit:
      return FindHeader(env, sources, requirement);
    case ProviderKind::kPythonPackage:
      return FindPackage(sources, requirement);
    case ProviderKind::kPython:
    case ProviderKind::kAlways:
      return ToolAnswer{};
  }
  return ToolAnswer{};
}

}  // namespace ptpkg::builder
