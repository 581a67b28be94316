#include "build/tools.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "build/tool_table.h"
#include "spec/version_spec.h"
#include "support/text.h"

namespace ptpkg::build {

namespace {

/// "3.11" of "3.11", "3.11.*" and "3.11.* *_cpython"; "" for a range.
std::string PlainVersion(std::string_view text) {
  std::string version(text.substr(0, text.find(' ')));
  if (version.ends_with(".*")) version.resize(version.size() - 2);
  const bool plain = version.find_first_not_of("0123456789.") == std::string::npos;
  return plain ? version : std::string();
}

/// The first number with a dot in the output of "--version": every tool of the table prints its own
/// version before any other.
std::string FirstVersion(std::string_view output) {
  constexpr std::string_view kDigits = "0123456789";
  std::size_t at = 0;
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

constexpr std::string_view kDpkgRecords = "/var/lib/dpkg/info";

/// The list of files of an installed Debian package: "<name>.list", or "<name>:<architecture>.list" for
/// packages that several architectures share.
Result<std::optional<AbsPath>> DebianRecord(Fs& fs, const std::string& package) {
  for (const std::string_view suffix : {".list", ":amd64.list", ":arm64.list"}) {
    PTPKG_TRY(const RelPath name, RelPath::Parse(package + std::string(suffix)),
              "while looking for system packages");
    const AbsPath path = AbsPath::Literal(kDpkgRecords) / name;
    PTPKG_TRY(const bool there, Exists(fs, path));
    if (there) return std::optional(path);
  }
  return std::optional<AbsPath>();
}

class Finder {
 public:
  Finder(Env& env, const recipe::Recipe& recipe) : env_(env), recipe_(recipe) {
    const auto path = env.variables.find("PATH");
    search_ = path == env.variables.end() ? "/usr/bin:/bin" : path->second;
    // The CUDA toolkit's own installer puts it here and leaves PATH to the user.
    for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
      const auto home = env.variables.find(name);
      if (home != env.variables.end() && !home->second.empty()) search_ += ":" + home->second + "/bin";
    }
    search_ += ":/usr/local/cuda/bin";
  }

  Result<ToolSet> Run(const std::set<std::string>& provided) {
    std::vector<recipe::MatchSpec> specs = recipe_.requirements.build;
    specs.insert(specs.end(), recipe_.requirements.host.begin(), recipe_.requirements.host.end());
    for (const recipe::MatchSpec& spec : specs) {
      if (provided.contains(spec.name)) continue;
      const std::optional<Provider> provider = FindProvider(spec.name);
      if (!provider) {
        Miss(spec, "it is no package of the output channel, and --env system does not know the name", "", "");
        continue;
      }
      PTPKG_CHECK(FindOne(spec, *provider));
    }
    if (wants_python_) PTPKG_CHECK(FindPython());
    PTPKG_CHECK(CheckSystemPackages());
    return std::move(set_);
  }

 private:
  Result<void> FindOne(const recipe::MatchSpec& spec, const Provider& provider) {
    switch (provider.kind) {
      case ProviderKind::kProgram:
        return FindProgramFor(spec, provider);
      case ProviderKind::kHeader:
        return FindHeader(spec, provider);
      case ProviderKind::kPython:
        wants_python_ = true;
        return Ok();
      case ProviderKind::kPythonPackage:
        wants_python_ = true;
        python_specs_.emplace_back(spec, provider);
        return Ok();
      case ProviderKind::kAlways:
        return Ok();
    }
    return Ok();
  }

  Result<void> FindProgramFor(const recipe::MatchSpec& spec, const Provider& provider) {
    std::optional<AbsPath> path;
    for (const std::string& name : Split(provider.probes, ' ')) {
      path = FindProgram(name, search_);
      if (path) break;
    }
    if (!path) {
      Miss(spec, fmt::format("program '{}' is not on PATH", Split(provider.probes, ' ').front()),
           provider.debian, "");
      return Ok();
    }
    const bool known = std::any_of(set_.tools.begin(), set_.tools.end(),
                                   [&](const Tool& tool) { return tool.path == *path; });
    if (!spec.version.empty() && spec.version != "*") PTPKG_CHECK(CheckProgramVersion(spec, *path, provider));
    if (!known) {
      set_.tools.push_back(
          {.requirement = spec.name, .path = *path, .variable = std::string(provider.variable)});
    }
    return Ok();
  }

  Result<void> CheckProgramVersion(const recipe::MatchSpec& spec, const AbsPath& path,
                                   const Provider& provider) {
    Command command;
    command.argv = {path.str(), "--version"};
    command.env = {{"PATH", search_}, {"LC_ALL", "C"}};
    command.cancel = &env_.cancel;
    PTPKG_TRY(const ExitStatus status, env_.process.Run(command));
    const std::string version = FirstVersion(status.output);
    PTPKG_TRY(const bool fits, Fits(version, spec.version));
    if (!fits) {
      Miss(spec, fmt::format("'{}' is version {}", path.str(), version.empty() ? "unknown" : version),
           provider.debian, "");
    }
    return Ok();
  }

  static Result<bool> Fits(const std::string& text, const std::string& constraint) {
    const auto version = spec::Version::Parse(text);
    if (!version) return false;
    PTPKG_TRY(const spec::VersionSpec allowed, spec::VersionSpec::Parse(constraint));
    return allowed.Matches(*version);
  }

  Result<void> FindHeader(const recipe::MatchSpec& spec, const Provider& provider) {
    static constexpr std::array<std::string_view, 4> kFolders = {"/usr/include", "/usr/local/include",
                                                                 "/usr/include/x86_64-linux-gnu",
                                                                 "/usr/include/aarch64-linux-gnu"};
    for (const std::string& header : Split(provider.probes, ' ')) {
      bool found = false;
      for (const std::string_view folder : kFolders) {
        PTPKG_TRY(const bool there, Exists(env_.fs, AbsPath::Literal(folder) / header));
        found = found || there;
      }
      if (!found) {
        Miss(spec, fmt::format("header '{}' is not installed", header), provider.debian, "");
        return Ok();
      }
    }
    return Ok();
  }

  Result<void> FindPython() {
    const std::string wanted = WantedPython(recipe_);
    std::vector<std::string> names;
    bool needs_pip = false;
    for (const auto& [spec, provider] : python_specs_) {
      names.emplace_back(provider.probes);
      needs_pip = needs_pip || provider.probes == "pip";
    }
    std::string reason;
    for (const AbsPath& candidate : PythonCandidates(env_, wanted)) {
      const auto python = ProbePython(env_, candidate, names);
      if (!python && python.error().code() == ErrorCode::kCancelled) return python.error();
      const std::string rejected = python ? WhyUnfit(*python, wanted, needs_pip) : python.error().message();
      if (rejected.empty()) {
        set_.python = *python;
        return CheckPythonPackages(*python);
      }
      reason += (reason.empty() ? "" : "; ") + rejected;
    }
    if (reason.empty()) reason = "no interpreter on PATH";
    const recipe::MatchSpec spec{.name = "python", .version = wanted, .build = {}};
    Miss(spec, reason, wanted.empty() ? "python3" : "python" + wanted, "");
    set_.missing.back().reason += ": name one that fits with PTPKG_PYTHON";
    return Ok();
  }

  static std::string WhyUnfit(const Python& python, const std::string& wanted, bool needs_pip) {
    if (!IsPythonVersion(python.version, wanted)) {
      return fmt::format("'{}' is Python {}", python.executable.str(), python.version);
    }
    const std::string usual = fmt::format("lib/python{}/site-packages", python.MinorVersion());
    if (needs_pip && python.site_packages != usual) {
      // Debian's own interpreter, outside of a virtual environment.
      return fmt::format("'{}' installs packages into '{}', not '{}' (a virtual environment of it does)",
                         python.executable.str(), python.site_packages, usual);
    }
    return "";
  }

  Result<void> CheckPythonPackages(const Python& python) {
    for (const auto& [spec, provider] : python_specs_) {
      const auto found = python.packages.find(std::string(provider.probes));
      if (found == python.packages.end()) {
        Miss(spec, fmt::format("'{}' has no package '{}'", python.executable.str(), provider.probes), "",
             provider.probes);
        continue;
      }
      if (spec.version.empty() || spec.version == "*") continue;
      PTPKG_TRY(const bool fits, Fits(found->second, spec.version));
      if (!fits) {
        Miss(spec, fmt::format("'{}' has version {}", python.executable.str(), found->second), "",
             provider.probes);
      }
    }
    return Ok();
  }

  Result<void> CheckSystemPackages() {
    PTPKG_TRY(const bool debian, Exists(env_.fs, AbsPath::Literal(kDpkgRecords)));
    if (!debian) return Ok();
    for (const std::string& package : recipe_.ptpkg.system_packages) {
      PTPKG_TRY(const std::optional<AbsPath> record, DebianRecord(env_.fs, package));
      const bool reported =
          std::any_of(set_.missing.begin(), set_.missing.end(),
                      [&](const MissingTool& missing) { return missing.debian_package == package; });
      if (record) {
        set_.debian_records.push_back(*record);
      } else if (!reported) {
        Miss({.name = package, .version = {}, .build = {}}, "the Debian package is not installed", package,
             "");
      }
    }
    return Ok();
  }

  void Miss(const recipe::MatchSpec& spec, std::string reason, std::string_view debian,
            std::string_view python) {
    set_.missing.push_back({.requirement = spec.str(),
                            .reason = std::move(reason),
                            .debian_package = std::string(debian),
                            .python_package = std::string(python),
                            .python = set_.python ? set_.python->executable.str() : std::string()});
  }

  Env& env_;
  const recipe::Recipe& recipe_;
  std::string search_;
  bool wants_python_ = false;
  std::vector<std::pair<recipe::MatchSpec, Provider>> python_specs_;
  ToolSet set_;
};

}  // namespace

std::string WantedPython(const recipe::Recipe& recipe) {
  const auto variant = recipe.variant.find("python");
  if (variant != recipe.variant.end()) return PlainVersion(variant->second);
  for (const auto* specs : {&recipe.requirements.host, &recipe.requirements.build}) {
    for (const recipe::MatchSpec& spec : *specs) {
      if (spec.name == "python") return PlainVersion(spec.version);
    }
  }
  return "";
}

Result<ToolSet> FindTools(Env& env, const recipe::Recipe& recipe, const std::set<std::string>& provided) {
  return Finder(env, recipe).Run(provided);
}

Error MissingToolsError(const recipe::Recipe& recipe, const std::vector<MissingTool>& missing) {
  std::vector<std::string> lines;
  std::set<std::string> debian;
  std::set<std::string> python;
  std::string interpreter;
  for (const MissingTool& one : missing) {
    lines.push_back(fmt::format("'{}' ({})", one.requirement, one.reason));
    if (!one.debian_package.empty()) debian.insert(one.debian_package);
    if (one.python_package.empty()) continue;
    python.insert(one.python_package);
    interpreter = one.python;
  }
  std::vector<std::string> commands;
  if (!debian.empty()) commands.push_back(fmt::format("apt-get install {}", fmt::join(debian, " ")));
  if (!python.empty()) {
    commands.push_back(fmt::format("{} -m pip install {}", interpreter, fmt::join(python, " ")));
  }
  std::string hint = commands.empty()
                         ? "build the package first, so that the output channel has it, or use --env conda"
                         : fmt::format("install: {}", fmt::join(commands, " && "));
  return Error(ErrorCode::kNotFound, fmt::format("'{}' requires what this machine does not have: {}",
                                                 recipe.name, fmt::join(lines, ", ")))
      .WithHint(std::move(hint));
}

}  // namespace ptpkg::build
