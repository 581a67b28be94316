#include "builder/tools/tools.h"

#include <algorithm>
#include <fmt/core.h>

#include "builder/tools/debian_packages.h"
#include "builder/tools/tool_table.h"
#include "support/text/text.h"
#include "versions/version_spec.h"

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

/// One requirement and what it means here; no provider for a name that the table does not have.
struct Wanted {
  recipe::MatchSpec spec;
  std::optional<Provider> provider;
  bool in_build = false;

  [[nodiscard]] bool Is(ProviderKind kind) const { return provider && provider->kind == kind; }
  [[nodiscard]] bool IsNvcc() const { return Is(ProviderKind::kProgram) && provider->probes == "nvcc"; }
  /// Names under which Python may have it.
  [[nodiscard]] std::vector<std::string> Distributions() const {
    if (Is(ProviderKind::kPythonPackage)) return {std::string(provider->probes)};
    std::vector<std::string> names = {spec.name};
    constexpr std::string_view kPrefix = "python-";
    if (spec.name.starts_with(kPrefix)) names.push_back(spec.name.substr(kPrefix.size()));
    return names;
  }
};

bool HasConstraint(const recipe::MatchSpec& spec) { return !spec.version.empty() && spec.version != "*"; }

Result<bool> Fits(const std::string& text, const std::string& constraint) {
  const auto version = versions::Version::Parse(text);
  if (!version) return false;
  PTPKG_TRY(const versions::VersionSpec allowed, versions::VersionSpec::Parse(constraint));
  return allowed.Matches(*version);
}

class Finder {
 public:
  Finder(Env& env, const recipe::Recipe& recipe, const HostRequest& request)
      : env_(env), recipe_(recipe), request_(request), search_(PathVariable(env.variables)) {}

  Result<ToolSet> Run() {
    List(recipe_.requirements.build, true);
    List(recipe_.requirements.host, false);
    PTPKG_CHECK(FindPython());
    PTPKG_CHECK(ChooseNvcc());
    for (const Wanted& wanted : wanted_) PTPKG_CHECK(FindOne(wanted));
    if (!needs_python_) set_.python.reset();
    PTPKG_CHECK(CheckSystemPackages());
    return std::move(set_);
  }

 private:
  void List(const std::vector<recipe::MatchSpec>& specs, bool in_build) {
    for (const recipe::MatchSpec& spec : specs) {
      if (request_.provided.contains(spec.name)) continue;
      Wanted wanted{.spec = spec, .provider = FindProvider(spec.name), .in_build = in_build};
      needs_python_ =
          needs_python_ || wanted.Is(ProviderKind::kPython) || wanted.Is(ProviderKind::kPythonPackage);
      if (request_.from_index.contains(spec.name)) {
        if (wanted.provider) not_debians_.insert(std::string(wanted.provider->debian));
        continue;
      }
      wanted_.push_back(std::move(wanted));
    }
  }

  Result<void> FindOne(const Wanted& wanted) {
    if (!wanted.provider) return FindUnknown(wanted);
    switch (wanted.provider->kind) {
      case ProviderKind::kProgram:
        return FindProgramFor(wanted);
      case ProviderKind::kHeader:
      case ProviderKind::kToolkit:
        return FindHeader(wanted);
      case ProviderKind::kPythonPackage:
        return FindPackage(wanted);
      case ProviderKind::kPython:
      case ProviderKind::kAlways:
        return Ok();
    }
    return Ok();
  }

  /// Takes the first toolkit whose version fits all that the recipe requires of CUDA, and the first of all if
  /// none fits or the recipe names no version. Reads versions only if it names one.
  Result<void> ChooseNvcc() {
    std::vector<std::string> constraints;
    bool needed = false;
    for (const Wanted& wanted : wanted_) {
      const bool of_nvcc = wanted.IsNvcc();
      needed = needed || of_nvcc || wanted.Is(ProviderKind::kToolkit) || wanted.Is(ProviderKind::kHeader);
      const bool counts = of_nvcc || (wanted.Is(ProviderKind::kToolkit) && IsNumberedAsNvcc(wanted));
      if (counts && HasConstraint(wanted.spec)) constraints.push_back(wanted.spec.version);
    }
    if (!needed) return Ok();
    PTPKG_TRY(const std::vector<AbsPath> nvccs, FindNvccs(env_, request_.options.cuda_home));
    if (nvccs.empty()) return Ok();
    nvcc_ = nvccs.front();
    for (const AbsPath& candidate : constraints.empty() ? std::vector<AbsPath>() : nvccs) {
      PTPKG_TRY(const std::string version, ProgramVersion(env_, candidate));
      bool fits = true;
      for (const std::string& constraint : constraints) {
        PTPKG_TRY(const bool one, Fits(version, constraint));
        fits = fits && one;
      }
      if (fits) {
        nvcc_ = candidate;
        other_nvccs_.clear();
        break;
      }
      if (candidate != nvcc_) other_nvccs_ += fmt::format(", '{}' {}", candidate.str(), version);
    }
    search_ += ":" + nvcc_->Parent().str();
    auto toolkit = ReadCudaToolkit(env_, *nvcc_);
    if (!toolkit && toolkit.error().code() != ErrorCode::kNotFound) return toolkit.error();
    if (toolkit) toolkit_ = *std::move(toolkit);  // else gone meanwhile
    return Ok();
  }

  Result<void> FindProgramFor(const Wanted& wanted) {
    const Provider& provider = *wanted.provider;
    std::optional<AbsPath> path = wanted.IsNvcc() ? nvcc_ : std::nullopt;
    // With its packages Python brings programs, such as cmake and ninja of the Python index.
    const std::string search = set_.python ? search_ + ":" + set_.python->program_folder.str() : search_;
    for (const std::string& name : Split(provider.probes, ' ')) {
      if (path) break;
      path = FindProgram(name, search);
    }
    if (!path) {
      NoteMissing(wanted, fmt::format("program '{}' is not on PATH", Split(provider.probes, ' ').front()));
      return Ok();
    }
    return Take(wanted, *path);
  }

  Result<void> Take(const Wanted& wanted, const AbsPath& path) {
    if (HasConstraint(wanted.spec)) PTPKG_CHECK(CheckProgramVersion(wanted, path));
    const auto known = std::find_if(set_.tools.begin(), set_.tools.end(),
                                    [&](const Tool& tool) { return tool.path == path; });
    const std::string variable(wanted.provider ? wanted.provider->variable : std::string_view());
    if (known == set_.tools.end()) {
      set_.tools.push_back({.requirement = wanted.spec.name,
                            .path = path,
                            .variable = variable,
                            .toolkit = wanted.IsNvcc() ? toolkit_ : std::nullopt});
    } else if (known->variable.empty()) {
      known->variable = variable;  // cuda-version is answered by nvcc too, but only the compiler names it
    }
    return Ok();
  }

  Result<void> CheckProgramVersion(const Wanted& wanted, const AbsPath& path) {
    PTPKG_TRY(const std::string version, ProgramVersion(env_, path));
    PTPKG_TRY(const bool fits, Fits(version, wanted.spec.version));
    if (!fits) {
      NoteMissing(wanted,
                  fmt::format("'{}' is version {}{}", path.str(), version.empty() ? "unknown" : version,
                              wanted.IsNvcc() ? other_nvccs_ : ""));
      // Debian would say that it has the newest one already.
      set_.missing.back().debian_package.clear();
      set_.missing.back().unfit_program = std::string(path.Name());
    }
    return Ok();
  }

  /// Directories to search for a header. A toolkit's lies beside its nvcc, not elsewhere: /usr/local/include
  /// may have another toolkit's. Debian's own toolkit has no nvcc.profile there, and its headers in the usual
  /// directories. Others may have been put beside the toolkit's, as cuDNN is from its archive, and nvcc takes
  /// those first.
  [[nodiscard]] std::vector<AbsPath> IncludeFolders(const Wanted& wanted) const {
    std::vector<AbsPath> folders;
    if (toolkit_ && toolkit_->has_profile) folders = toolkit_->includes;
    if (wanted.Is(ProviderKind::kToolkit) && !folders.empty()) return folders;
    for (const char* usual : {"/usr/include", "/usr/local/include", "/usr/include/x86_64-linux-gnu",
                              "/usr/include/aarch64-linux-gnu"}) {
      folders.push_back(AbsPath::Literal(usual));
    }
    return folders;
  }

  [[nodiscard]] const char* FromWheels() const {
    return request_.host_env == HostEnv::kWheels ? "" : "; --env wheels takes it from the Python index";
  }

  /// The parts named cuda-… have the version of their toolkit, which nvcc says; libraries such as cuBLAS
  /// count by themselves, and no header says how conda-forge calls that.
  static bool IsNumberedAsNvcc(const Wanted& wanted) { return wanted.spec.name.starts_with("cuda-"); }

  Result<void> CheckToolkitVersion(const Wanted& wanted) {
    const std::string& name = wanted.spec.name;
    if (!nvcc_ || !IsNumberedAsNvcc(wanted)) {
      NoteMissing(wanted, fmt::format("cannot detect the installed version of '{}'{}", name, FromWheels()));
      return Ok();
    }
    PTPKG_TRY(const std::string version, ProgramVersion(env_, *nvcc_));
    PTPKG_TRY(const bool fits, Fits(version, wanted.spec.version));
    if (!fits) {
      NoteMissing(wanted, fmt::format("the toolkit of '{}' is version {}{}{}", nvcc_->str(),
                                      version.empty() ? "unknown" : version, other_nvccs_, FromWheels()));
    }
    return Ok();
  }

  Result<void> FindHeader(const Wanted& wanted) {
    const std::vector<AbsPath> folders = IncludeFolders(wanted);
    for (const std::string& header : Split(wanted.provider->probes, ' ')) {
      std::optional<AbsPath> found;
      for (const AbsPath& folder : folders) {
        const AbsPath path = folder / header;
        PTPKG_TRY(const bool there, Exists(env_.fs, path));
        if (there && !found) found = path;
      }
      if (found) {
        set_.headers.push_back(*found);
        if (!wanted.provider->debian.empty()) header_packages_.emplace_back(wanted.provider->debian);
        continue;
      }
      // Header-only libraries such as pybind11 come as Python packages too.
      if (InstalledVersion(wanted)) {
        needs_python_ = true;
        return FindPackage(wanted);
      }
      NoteMissing(wanted, fmt::format("header '{}' is not installed{}", header,
                                      wanted.Is(ProviderKind::kToolkit) ? FromWheels() : ""));
      return Ok();
    }
    if (wanted.Is(ProviderKind::kToolkit) && HasConstraint(wanted.spec)) return CheckToolkitVersion(wanted);
    return Ok();
  }

  Result<void> FindPackage(const Wanted& wanted) {
    if (!set_.python) return Ok();  // that there is no interpreter is said once
    const std::optional<std::string> version = InstalledVersion(wanted);
    const std::string& python = set_.python->executable.str();
    if (!version) {
      NoteMissing(wanted, fmt::format("'{}' has no package '{}'", python, wanted.Distributions().front()));
      return Ok();
    }
    if (!HasConstraint(wanted.spec)) return Ok();
    PTPKG_TRY(const bool fits, Fits(*version, wanted.spec.version));
    if (!fits) NoteMissing(wanted, fmt::format("'{}' has version {}", python, *version));
    return Ok();
  }

  /// A name that the table does not have: a distribution that Python has, or, for the build, a program.
  Result<void> FindUnknown(const Wanted& wanted) {
    if (InstalledVersion(wanted)) {
      needs_python_ = true;
      return FindPackage(wanted);
    }
    if (wanted.in_build) {
      if (const std::optional<AbsPath> path = FindProgram(wanted.spec.name, search_))
        return Take(wanted, *path);
    }
    std::string reason = "it is not in the output channel, and --env system has no such tool";
    if (set_.python) {
      reason = fmt::format("it is not in the output channel, and '{}' has not installed it",
                           set_.python->executable.str());
    }
    // compiler() makes a name of the language where no variant names the compiler.
    constexpr std::string_view kPlatform = "_linux-64";
    if (wanted.spec.name.ends_with(kPlatform)) {
      const std::string language = wanted.spec.name.substr(0, wanted.spec.name.size() - kPlatform.size());
      reason += fmt::format("; set '{}_compiler' in variants.yaml to choose a compiler", language);
    }
    NoteMissing(wanted, std::move(reason));
    return Ok();
  }

  [[nodiscard]] std::optional<std::string> InstalledVersion(const Wanted& wanted) const {
    if (!set_.python) return std::nullopt;
    for (const std::string& name : wanted.Distributions()) {
      const auto found = set_.python->packages.find(name);
      if (found != set_.python->packages.end()) return found->second;
    }
    return std::nullopt;
  }

  /// The interpreter is asked about every name that is not surely something else; one that is only asked is
  /// not missed when it is not there.
  Result<void> FindPython() {
    std::vector<std::string> names;
    for (const Wanted& wanted : wanted_) {
      if (wanted.Is(ProviderKind::kAlways) || wanted.Is(ProviderKind::kPython) ||
          wanted.Is(ProviderKind::kProgram) || wanted.Is(ProviderKind::kToolkit)) {
        continue;
      }
      const std::vector<std::string> distributions = wanted.Distributions();
      names.insert(names.end(), distributions.begin(), distributions.end());
    }
    if (names.empty() && !needs_python_) return Ok();
    names.emplace_back("pip");
    const std::string wanted = RequestedPython(recipe_);
    std::string reason;
    for (const AbsPath& candidate : PythonCandidates(env_, request_.options.python, wanted)) {
      auto python = ProbePython(env_, candidate, names);
      if (!python && python.error().code() == ErrorCode::kCancelled) return python.error();
      PTPKG_TRY(const bool fits, python ? PythonFits(*python, wanted) : Result<bool>(false));
      if (fits) {
        set_.python = *std::move(python);
        return Ok();
      }
      reason += (reason.empty() ? "" : "; ") +
                (python ? fmt::format("'{}' is Python {}{}", python->executable.str(), python->version,
                                      python->free_threaded ? ", free-threaded" : "")
                        : python.error().message());
    }
    return needs_python_ ? NoteMissingPython(wanted, std::move(reason)) : Ok();
  }

  Result<bool> PythonFits(const Python& python, const std::string& wanted) const {
    if (!python.Fits(wanted)) return false;
    for (const Wanted& one : wanted_) {
      if (!one.Is(ProviderKind::kPython) || !HasConstraint(one.spec)) continue;
      PTPKG_TRY(const bool fits, Fits(python.version, one.spec.version));
      if (!fits) return false;
    }
    return true;
  }

  Result<void> NoteMissingPython(const std::string& wanted, std::string reason) {
    if (reason.empty()) reason = "no interpreter on PATH";
    const recipe::MatchSpec spec{.name = "python", .version = wanted, .build = {}};
    std::string package = wanted.empty() ? "python3" : "python" + wanted;
    // A Debian release has one or two Pythons.
    PTPKG_TRY(const bool offered, AptHasPackage(env_, package));
    if (!offered) package.clear();
    set_.missing.push_back({.name = spec.name,
                            .requirement = spec.str(),
                            .reason = reason + ": choose one with --python-exe or PTPKG_PYTHON",
                            .debian_package = package,
                            .pip_requirement = ""});
    return Ok();
  }

  Result<void> CheckSystemPackages() {
    std::vector<std::string> names = recipe_.ptpkg.system_packages;
    names.insert(names.end(), header_packages_.begin(), header_packages_.end());
    if (names.empty()) return Ok();
    PTPKG_TRY(auto installed, InstalledDebianPackages(env_, names));
    if (!installed) return Ok();
    for (const std::string& package : recipe_.ptpkg.system_packages) {
      const bool reported =
          std::any_of(set_.missing.begin(), set_.missing.end(),
                      [&](const MissingTool& missing) { return missing.debian_package == package; });
      if (installed->contains(package) || reported || not_debians_.contains(package)) continue;
      set_.missing.push_back({.name = "",
                              .requirement = package,
                              .reason = "the Debian package is not installed",
                              .debian_package = package,
                              .pip_requirement = ""});
    }
    set_.debian_packages = *std::move(installed);
    return Ok();
  }

  void NoteMissing(const Wanted& wanted, std::string reason) {
    MissingTool missing{.name = wanted.spec.name,
                        .requirement = wanted.spec.str(),
                        .reason = std::move(reason),
                        .debian_package = "",
                        .pip_requirement = ""};
    if (wanted.provider) missing.debian_package = wanted.provider->debian;
    const bool by_pip = wanted.Is(ProviderKind::kPythonPackage) || InstalledVersion(wanted);
    if (by_pip) missing.pip_requirement = PipRequirement(wanted.Distributions().front(), wanted.spec.version);
    set_.missing.push_back(std::move(missing));
  }

  Env& env_;
  const recipe::Recipe& recipe_;
  const HostRequest& request_;
  std::string search_;
  std::optional<AbsPath> nvcc_;
  std::optional<CudaToolkit> toolkit_;  ///< Toolkit of nvcc_.
  std::string other_nvccs_;             ///< The nvccs that do not fit, for a message.
  std::vector<Wanted> wanted_;
  std::set<std::string> not_debians_;         ///< Packages that would bring what the index brings.
  std::vector<std::string> header_packages_;  ///< Debian packages that may own set_.headers.
  bool needs_python_ = false;  ///< The recipe requires Python, or a package that the interpreter has.
  ToolSet set_;
};

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
  return Finder(env, recipe, request).Run();
}

}  // namespace ptpkg::builder
