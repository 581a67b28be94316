#include "builder/tools/tools.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>

#include "builder/tools/debian_packages.h"
#include "builder/tools/find_requirement.h"
#include "builder/tools/tool_table.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

/// "3.11" of "3.11", "3.11.*" and "3.11.* *_cpython"; "3.13t" of "3.13t" and "3.13.* *_cp313t"; "" for a
/// range.
std::string PythonOf(std::string_view version, std::string_view build) {
  const bool free_threaded =
      version.ends_with('t') || (build.find("_cp3") != std::string_view::npos && build.ends_with('t'));
  if (version.ends_with('t')) version.remove_suffix(1);
  if (version.ends_with(".*")) version.remove_suffix(2);
  if (version.empty() || version.find_first_not_of("0123456789.") != std::string_view::npos) return "";
  return std::string(version) + (free_threaded ? "t" : "");
}

/// The first number with a dot at or behind `at`.
std::string VersionFrom(std::string_view output, std::size_t at) {
  constexpr std::string_view kDigits = "0123456789";
  while ((at = output.find_first_of(kDigits, at)) != std::string_view::npos) {
    std::size_t end = output.find_first_not_of("0123456789.", at);
    if (end == std::string_view::npos) end = output.size();
    std::string_view word = output.substr(at, end - at);
    while (word.ends_with('.')) word.remove_suffix(1);
    if (word.find('.') != std::string_view::npos) return std::string(word);
    at = end;
  }
  return "";
}

/// The requirements that this machine is to meet.
struct ToolRequirements {
  std::vector<ToolRequirement> all;
  bool python = false;  ///< Python, or a package that one has, is required of the machine or of the index.
  std::set<std::string> index_packages;  ///< Debian packages that would bring what the index brings.
};

ToolRequirements ListRequirements(const recipe::Recipe& recipe, const HostRequest& request) {
  ToolRequirements listed;
  for (const bool in_build : {true, false}) {
    for (const recipe::MatchSpec& spec : in_build ? recipe.requirements.build : recipe.requirements.host) {
      if (request.provided.contains(spec.name)) continue;
      ToolRequirement one{.spec = spec, .provider = FindProvider(spec.name), .in_build = in_build};
      listed.python = listed.python || one.Is(ProviderKind::kPython) || one.Is(ProviderKind::kPythonPackage);
      if (request.from_index.contains(spec.name)) {
        if (one.provider) listed.index_packages.insert(std::string(one.provider->debian));
        continue;
      }
      listed.all.push_back(std::move(one));
    }
  }
  return listed;
}

/// Constraints of all requirements on the version of the CUDA compiler; nullopt if none of them needs it.
std::optional<std::vector<std::string>> NvccConstraints(const std::vector<ToolRequirement>& requirements) {
  std::vector<std::string> constraints;
  bool needed = false;
  for (const ToolRequirement& one : requirements) {
    const bool of_toolkit = one.Is(ProviderKind::kToolkit);
    needed = needed || one.IsNvcc() || of_toolkit || one.Is(ProviderKind::kHeader);
    const bool counts = one.IsNvcc() || (of_toolkit && one.IsNumberedAsNvcc());
    if (counts && one.HasConstraint()) constraints.push_back(one.spec.version);
  }
  return needed ? std::optional(std::move(constraints)) : std::nullopt;
}

Result<bool> FitsAll(const std::string& version, const std::vector<std::string>& constraints) {
  bool fits = true;
  for (const std::string& constraint : constraints) {
    PTPKG_TRY(const bool one, VersionFits(version, constraint));
    fits = fits && one;
  }
  return fits;
}

/// Takes the first toolkit whose version fits all that the recipe requires of CUDA, and the first of all if
/// none fits or the recipe names no version. Reads versions only if it names one.
Result<ChosenNvcc> ChooseNvcc(Env& env, const std::string& cuda_home,
                              const std::vector<ToolRequirement>& requirements) {
  ChosenNvcc chosen;
  const std::optional<std::vector<std::string>> constraints = NvccConstraints(requirements);
  if (!constraints) return chosen;
  PTPKG_TRY(const std::vector<AbsPath> nvccs, FindNvccs(env, cuda_home));
  if (nvccs.empty()) return chosen;
  chosen.path = nvccs.front();
  for (const AbsPath& candidate : constraints->empty() ? std::vector<AbsPath>() : nvccs) {
    PTPKG_TRY(const std::string version, ProgramVersion(env, candidate));
    PTPKG_TRY(const bool fits, FitsAll(version, *constraints));
    if (fits) {
      chosen.path = candidate;
      chosen.others.clear();
      break;
    }
    if (candidate != chosen.path) chosen.others += fmt::format(", '{}' {}", candidate.str(), version);
  }
  auto toolkit = ReadCudaToolkit(env, *chosen.path);
  if (!toolkit && toolkit.error().code() != ErrorCode::kNotFound) return toolkit.error();
  if (toolkit) chosen.toolkit = *std::move(toolkit);  // else gone meanwhile
  return chosen;
}

/// Names that the interpreter is asked about: every name that is not surely something else.
std::vector<std::string> NamesForPython(const std::vector<ToolRequirement>& requirements) {
  std::vector<std::string> names;
  for (const ToolRequirement& one : requirements) {
    if (one.Is(ProviderKind::kAlways) || one.Is(ProviderKind::kPython) || one.Is(ProviderKind::kProgram) ||
        one.Is(ProviderKind::kToolkit)) {
      continue;
    }
    const std::vector<std::string> distributions = one.Distributions();
    names.insert(names.end(), distributions.begin(), distributions.end());
  }
  return names;
}

Result<bool> PythonFits(const Python& python, const std::string& requested,
                        const std::vector<ToolRequirement>& requirements) {
  if (!python.Fits(requested)) return false;
  for (const ToolRequirement& one : requirements) {
    if (!one.Is(ProviderKind::kPython) || !one.HasConstraint()) continue;
    PTPKG_TRY(const bool fits, VersionFits(python.version, one.spec.version));
    if (!fits) return false;
  }
  return true;
}

Result<MissingTool> MissingPython(Env& env, const std::string& requested, std::string reason) {
  if (reason.empty()) reason = "no interpreter on PATH";
  const recipe::MatchSpec spec{.name = "python", .version = requested, .build = {}};
  std::string package = requested.empty() ? "python3" : "python" + requested;
  // A Debian release has one or two Pythons.
  PTPKG_TRY(const bool offered, AptHasPackage(env, package));
  if (!offered) package.clear();
  return MissingTool{.name = spec.name,
                     .requirement = spec.str(),
                     .reason = reason + ": choose one with --python-exe or PTPKG_PYTHON",
                     .debian_package = package,
                     .pip_requirement = ""};
}

/// An interpreter, or the reason why there is none. Without either, none is required.
struct FoundPython {
  std::optional<Python> python = {};
  std::optional<MissingTool> missing = {};
};

/// `requested`: RequestedPython. `named`: ToolOptions::python. An interpreter that is only asked about names
/// is not missed when it is not there.
Result<FoundPython> FindPython(Env& env, const ToolRequirements& requirements, const std::string& requested,
                               const std::string& named) {
  std::vector<std::string> names = NamesForPython(requirements.all);
  if (names.empty() && !requirements.python) return FoundPython{};
  names.emplace_back("pip");
  std::string reason;
  for (const AbsPath& candidate : PythonCandidates(env, named, requested)) {
    auto python = ProbePython(env, candidate, names);
    if (!python && python.error().code() == ErrorCode::kCancelled) return python.error();
    PTPKG_TRY(const bool fits,
              python ? PythonFits(*python, requested, requirements.all) : Result<bool>(false));
    if (fits) return FoundPython{.python = *std::move(python)};
    reason += (reason.empty() ? "" : "; ") +
              (python ? fmt::format("'{}' is Python {}{}", python->executable.str(), python->version,
                                    python->free_threaded ? ", free-threaded" : "")
                      : python.error().message());
  }
  if (!requirements.python) return FoundPython{};
  PTPKG_TRY(MissingTool missing, MissingPython(env, requested, std::move(reason)));
  return FoundPython{.missing = std::move(missing)};
}

void AddTool(Tool tool, std::vector<Tool>& tools) {
  const auto known =
      std::find_if(tools.begin(), tools.end(), [&](const Tool& each) { return each.path == tool.path; });
  if (known == tools.end()) {
    tools.push_back(std::move(tool));
  } else if (known->variable.empty()) {
    // nvcc answers cuda-version too, but only the compiler has a variable.
    known->variable = std::move(tool.variable);
  }
}

/// Debian packages that a recipe needs.
struct SystemPackages {
  const std::vector<std::string>& required;    ///< extra.ptpkg.system_packages
  const std::vector<std::string>& of_headers;  ///< They may own headers that were found.
  const std::set<std::string>& from_index;     ///< The index brings the same.
};

/// Sets `set.debian_packages`, and adds the required ones that are neither installed nor reported yet to
/// `set.missing`.
Result<void> CheckSystemPackages(Env& env, const SystemPackages& packages, ToolSet& set) {
  std::vector<std::string> names = packages.required;
  names.insert(names.end(), packages.of_headers.begin(), packages.of_headers.end());
  if (names.empty()) return Ok();
  PTPKG_TRY(auto installed, InstalledDebianPackages(env, names));
  if (!installed) return Ok();
  for (const std::string& package : packages.required) {
    const bool reported =
        std::any_of(set.missing.begin(), set.missing.end(),
                    [&](const MissingTool& missing) { return missing.debian_package == package; });
    if (installed->contains(package) || reported || packages.from_index.contains(package)) continue;
    set.missing.push_back({.name = "",
                           .requirement = package,
                           .reason = "the Debian package is not installed",
                           .debian_package = package,
                           .pip_requirement = ""});
  }
  set.debian_packages = *std::move(installed);
  return Ok();
}

}  // namespace

std::string ToolVersion(std::string_view output) {
  const std::size_t whole = output.find(", V");
  std::string version = whole == std::string_view::npos ? "" : VersionFrom(output, whole);
  return version.empty() ? VersionFrom(output, 0) : version;
}

Result<std::string> ProgramVersion(Env& env, const AbsPath& path) {
  Command command;
  command.argv = {path.str(), "--version"};
  command.env = {{"PATH", PathVariable(env.variables)}, {"LC_ALL", "C"}};
  command.cancel = &env.cancel;
  PTPKG_TRY(const ExitStatus status, env.process.Run(command));
  return ToolVersion(status.output);
}

std::string RequestedPython(const recipe::Recipe& recipe) {
  const auto variant = recipe.variant.find("python");
  if (variant != recipe.variant.end()) {
    const std::string_view text = variant->second;
    const std::size_t end = std::min(text.find(' '), text.size());
    return PythonOf(text.substr(0, end), Trim(text.substr(end)));
  }
  for (const auto* specs : {&recipe.requirements.host, &recipe.requirements.build}) {
    for (const recipe::MatchSpec& spec : *specs) {
      if (spec.name == "python") return PythonOf(spec.version, spec.build);
    }
  }
  return "";
}

Result<ToolSet> FindTools(Env& env, const recipe::Recipe& recipe, const HostRequest& request) {
  const ToolRequirements requirements = ListRequirements(recipe, request);
  PTPKG_TRY(FoundPython python,
            FindPython(env, requirements, RequestedPython(recipe), request.options.python));
  PTPKG_TRY(ChosenNvcc nvcc, ChooseNvcc(env, request.options.cuda_home, requirements.all));
  std::string search = PathVariable(env.variables);
  if (nvcc.path) search += ":" + nvcc.path->Parent().str();
  ToolSources sources{.search = std::move(search),
                      .python = std::move(python.python),
                      .nvcc = std::move(nvcc),
                      .host_env = request.host_env,
                      .output_channel = request.output_channel};
  ToolSet set;
  if (python.missing) set.missing.push_back(*std::move(python.missing));
  std::vector<std::string> header_packages;
  bool needs_python = requirements.python;
  for (const ToolRequirement& one : requirements.all) {
    PTPKG_TRY(ToolAnswer answer, FindRequirement(env, sources, one));
    if (answer.tool) AddTool(*std::move(answer.tool), set.tools);
    std::move(answer.headers.begin(), answer.headers.end(), std::back_inserter(set.headers));
    std::move(answer.header_packages.begin(), answer.header_packages.end(),
              std::back_inserter(header_packages));
    if (answer.missing) set.missing.push_back(*std::move(answer.missing));
    needs_python = needs_python || answer.from_python;
  }
  if (needs_python) set.python = std::move(sources.python);
  PTPKG_CHECK(CheckSystemPackages(env,
                                  {.required = recipe.ptpkg.system_packages,
                                   .of_headers = header_packages,
                                   .from_index = requirements.index_packages},
                                  set));
  return set;
}

}  // namespace ptpkg::builder
