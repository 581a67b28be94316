// Judges METADATA, WHEEL and entry_points.txt. pip, uv and the library installer accept different texts, and
// a wheel is sound only if each of them installs it. A text that one of them rejects is an error. If uv reads
// a form that the specification doesn't allow (NormalizeLikeUv), the finding has an id of its own ("…-form").
// Scripts are judged as files of the environment: a name must stay in the directory of scripts, must not
// replace the interpreter or a program of the environment, and must not collide with a member of .data.
// Each list of findings has a limit (LimitedFindings), because a hostile METADATA can have any number of
// fields.
// Sources: core metadata specification, PEP 508 and 440, PEP 639 for licences, and warehouse for the upload
// limits.

#include "verify/wheel/wheel_metadata_checks.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <optional>

#include "support/text/text.h"
#include "verify/wheel/lenient_specifiers.h"
#include "verify/wheel/metadata_fields.h"
#include "wheel/metadata/core_metadata.h"
#include "wheel/metadata/entry_points.h"
#include "wheel/metadata/marker.h"
#include "wheel/wheel_file.h"

namespace ptpkg::verify {
namespace {

/// Versions that the Python package index accepts on upload; 2.6 (PEP 808) is not among them yet.
constexpr std::array<std::string_view, 8> kIndexMetadataVersions = {"1.0", "1.1", "1.2", "2.1",
                                                                    "2.2", "2.3", "2.4", "2.5"};
constexpr std::size_t kMaxSummary = 512;   ///< Characters that the index stores.
constexpr std::size_t kMaxFileName = 255;  ///< Bytes, on all common file systems.

constexpr std::string_view kInvalidRequirement = "wheel-requirement-invalid";
constexpr std::string_view kRequirementForm = "wheel-requirement-form";
constexpr std::string_view kUnreadByUv = "wheel-uv-metadata";

std::string Where(const Error& error) {
  return error.span() ? fmt::format("line {}: {}", error.span()->line, error.message()) : error.message();
}

void CheckIdentity(const WheelView& view, const wheel::CoreMetadata& metadata, const std::string& file,
                   std::vector<Finding>& findings) {
  const std::string name = metadata.Get("Name");
  if (wheel::NormalizeName(name) != wheel::NormalizeName(view.file_name.name)) {
    findings.push_back(
        {"wheel-name-mismatch", Severity::kError, file,
         fmt::format("the metadata's Name is '{}', the file name says '{}'", name, view.file_name.name),
         "rebuild the wheel; don't rename it by hand"});
  }
  const std::string version = metadata.Get("Version");
  if (!wheel::SameVersion(version, view.file_name.version)) {
    findings.push_back({"wheel-version-mismatch", Severity::kError, file,
                        fmt::format("the metadata's Version is '{}', the file name says '{}'", version,
                                    view.file_name.version),
                        "rebuild the wheel; don't rename it by hand"});
  }
  if (version.find('\v') != std::string::npos) {
    findings.push_back({std::string(kUnreadByUv), Severity::kError, file,
                        "Version has a vertical tab, which uv reads as part of it",
                        "write only the version"});
  }
  const std::string metadata_version(Trim(metadata.Get("Metadata-Version")));
  if (std::find(kIndexMetadataVersions.begin(), kIndexMetadataVersions.end(), metadata_version) ==
      kIndexMetadataVersions.end()) {
    findings.push_back({"wheel-metadata-version", Severity::kError, file,
                        fmt::format("package indexes do not accept Metadata-Version '{}'", metadata_version),
                        "use 2.4, or 2.5 if Import-Name is needed"});
  }
}

/// uv fetches archives and Git repositories, and asks the end of the path for the kind of an archive.
bool CanUvFetch(std::string_view url) {
  const std::size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos) return false;
  const std::string_view scheme = url.substr(0, scheme_end);
  if (url.starts_with("file:///") || scheme.starts_with("git+")) return true;
  if (scheme != "http" && scheme != "https") return false;
  const std::string_view path = url.substr(0, url.find_first_of("?#"));
  constexpr std::array<std::string_view, 13> kArchives = {
      ".whl", ".zip",    ".tar",      ".tar.gz",  ".tgz", ".tar.bz2", ".tbz",
      ".txz", ".tar.xz", ".tar.lzma", ".tar.zst", ".tlz", ".tar.lz"};
  return std::any_of(kArchives.begin(), kArchives.end(),
                     [&](std::string_view archive) { return path.ends_with(archive); });
}

/// True if pip evaluates "~=" and "===" for the variable, because its values are versions.
bool IsVersionVariable(std::string_view name) {
  return name == "python_version" || name == "python_full_version" || name == "implementation_version" ||
         name == "platform_release";
}

/// True if pip evaluates the comparison. It compares by "~=" and "===" only if the operator and the right
/// side are one condition on versions. "===" takes any word.
bool CanPipEvaluate(const wheel::MarkerComparison& one) {
  if (one.op != "~=" && one.op != "===") return true;
  if (!IsVersionVariable(one.variable)) return false;
  if (!one.variable_first) return true;
  if (one.op == "===") return Trim(one.value).find_first_of(" \t\n\v\f\r;)") == std::string_view::npos;
  return one.value.find(',') == std::string::npos && wheel::ParseSpecifiers("~=" + one.value).has_value();
}

/// Problem of a requirement that parses, with the id of its finding.
struct RequirementProblem {
  std::string_view id;
  std::string message;
};

/// The problems of one requirement: the first of each id, by which targets refuse wheels.
class RequirementProblems {
 public:
  void Add(std::string_view id, std::string message) {
    if (!Has(id)) list_.push_back({id, std::move(message)});
  }
  [[nodiscard]] bool Has(std::string_view id) const {
    return std::any_of(list_.begin(), list_.end(),
                       [&](const RequirementProblem& problem) { return problem.id == id; });
  }
  [[nodiscard]] const std::vector<RequirementProblem>& list() const { return list_; }

 private:
  std::vector<RequirementProblem> list_;
};

void AddMarkerProblems(const std::string& marker, RequirementProblems& problems) {
  const auto comparisons = wheel::ComparisonsOf(marker);
  if (!comparisons) return;
  for (const wheel::MarkerComparison& one : *comparisons) {
    if (one.op == "===") problems.Add(kUnreadByUv, "its marker has '===', which uv does not support");
    if (one.variable == "extras") {
      problems.Add(kInvalidRequirement, "'extras' is only valid in lock files");
    } else if (!CanPipEvaluate(one)) {
      problems.Add(kRequirementForm, fmt::format("its marker compares '{}' with '{}' by '{}'", one.variable,
                                                 one.value, one.op));
    }
  }
}

RequirementProblems ProblemsOf(const wheel::Requirement& requirement, std::string_view text) {
  RequirementProblems problems;
  // A folded field keeps its line break in Python's reader.
  if (text.find_first_of("\n\v\f") != std::string_view::npos)
    problems.Add(kRequirementForm, "it has a line break");
  if (!requirement.url.empty() && !CanUvFetch(requirement.url)) {
    if (requirement.url.find("://") == std::string::npos) {
      problems.Add(kInvalidRequirement, fmt::format("'{}' is not a URL", requirement.url));
    } else {
      problems.Add(kUnreadByUv, fmt::format("uv cannot fetch '{}'", requirement.url));
    }
  }
  for (const auto& [op, version] : requirement.specifiers) {
    if (op == "===" && !wheel::ParseVersion(version))
      problems.Add(kUnreadByUv, fmt::format("uv reads no version in '==={}'", version));
  }
  if (!UvReadsNumbers(requirement.specifiers))
    problems.Add(kUnreadByUv, "it has a number above 64 bits, which uv does not read");
  const std::string_view versions = text.substr(0, text.find(';'));
  const std::size_t open = versions.find('(');
  if (requirement.url.empty() && open != std::string_view::npos && Trim(versions.substr(open + 1)) == ")")
    problems.Add(kUnreadByUv, "uv does not read empty parentheses");
  AddMarkerProblems(requirement.marker, problems);
  return problems;
}

void CheckRequirements(const wheel::CoreMetadata& metadata, const std::string& file,
                       LimitedFindings findings) {
  constexpr std::string_view kFix =
      "write it as the dependency specification says: name[extra]>=1.0 ; marker";
  for (const std::string& text : metadata.GetAll("Requires-Dist")) {
    const Result<wheel::Requirement> requirement = wheel::ParseRequirement(text);
    if (!requirement) {
      const bool uv_reads = wheel::ParseRequirement(NormalizeLikeUv(text)).has_value();
      findings.Add({std::string(uv_reads ? kRequirementForm : kInvalidRequirement), Severity::kError, file,
                    requirement.error().message(), std::string(kFix)});
      continue;
    }
    const RequirementProblems problems = ProblemsOf(*requirement, Trim(text));
    for (const RequirementProblem& problem : problems.list()) {
      findings.Add({std::string(problem.id), Severity::kError, file,
                    fmt::format("the requirement '{}': {}", requirement->str(), problem.message),
                    std::string(kFix)});
    }
    // Indexes reject it whatever uv can fetch and pip can evaluate.
    if (!requirement->url.empty() && !problems.Has(kInvalidRequirement)) {
      findings.Add({"wheel-requirement-url", Severity::kWarning, file,
                    fmt::format("the requirement '{}' has a URL, which public indexes reject", text),
                    "require a version and let the index find it"});
    }
  }
  const std::string python(Trim(metadata.Get("Requires-Python")));
  if (const auto parsed = wheel::ParseSpecifiers(python); !parsed) {
    const bool uv_reads = wheel::ParseSpecifiers(NormalizeLikeUv(python)).has_value();
    findings.Add({uv_reads ? "wheel-requires-python-form" : "wheel-requires-python-invalid", Severity::kError,
                  file,
                  fmt::format("Requires-Python '{}' is not a list of version conditions: {}", python,
                              parsed.error().message()),
                  "write it like '>=3.10'"});
  } else if (!UvReadsNumbers(*parsed)) {
    findings.Add(
        {std::string(kUnreadByUv), Severity::kError, file,
         fmt::format("Requires-Python '{}' has a number above 64 bits, which uv does not read", python),
         "write it like '>=3.10'"});
  }
}

bool HasLicenseDirectory(const wheel::CoreMetadata& metadata) {
  const Result<wheel::Version> version = wheel::ParseVersion(metadata.Get("Metadata-Version"));
  const Result<wheel::Version> floor = wheel::ParseVersion("2.4");
  return version && floor && wheel::CompareVersions(*version, *floor) >= 0;
}

void CheckLicenses(const WheelView& view, const wheel::CoreMetadata& metadata, const std::string& file,
                   LimitedFindings findings) {
  if (!HasLicenseDirectory(metadata)) return;  // License-File had no meaning before 2.4
  for (const std::string& name : metadata.GetAll("License-File")) {
    const std::string path = fmt::format("{}/licenses/{}", view.dist_info_dir, Trim(name));
    if (view.member_names.contains(path)) continue;
    findings.Add({"wheel-license-missing", Severity::kError, path,
                  fmt::format("License-File is '{}', but the wheel has no such file", Trim(name)),
                  "add the file, or remove the field"});
  }
  if (!Trim(metadata.Get("License")).empty() && !Trim(metadata.Get("License-Expression")).empty()) {
    findings.Add({"wheel-license-conflict", Severity::kError, file,
                  "License and License-Expression are both given", "keep License-Expression only"});
  }
}

void CheckSummary(const wheel::CoreMetadata& metadata, const std::string& file,
                  std::vector<Finding>& findings) {
  const std::string summary = metadata.Get("Summary");
  const std::size_t characters = CharacterCount(summary);
  if (characters <= kMaxSummary && summary.find('\n') == std::string::npos) return;
  findings.push_back(
      {"wheel-summary", Severity::kWarning, file,
       fmt::format("the Summary has {} characters or several lines; indexes accept one line of up to {}",
                   characters, kMaxSummary),
       "shorten it, and move the rest into the description"});
}

/// The script's module as a file: a package, a module, or a compiled module.
bool HasModule(const WheelView& view, const std::string& module) {
  const std::string base = ReplaceAll(module, ".", "/");
  const std::string data = view.file_name.Stem() + ".data/";
  for (const std::string& root : {std::string(), data + "purelib/", data + "platlib/"}) {
    const std::string path = root + base;
    if (view.member_names.contains(path + ".py") || view.member_names.contains(path + "/__init__.py"))
      return true;
    const auto compiled = view.member_names.lower_bound(path + ".");
    if (compiled != view.member_names.end() && compiled->starts_with(path + ".")) return true;
    // A directory without __init__.py is a namespace package (PEP 420).
    const auto inside = view.member_names.lower_bound(path + "/");
    if (inside != view.member_names.end() && inside->starts_with(path + "/")) return true;
  }
  return false;
}

bool IsScriptName(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  });
}

void CheckScriptName(const std::string& name, std::string_view project, const std::string& file,
                     LimitedFindings& findings) {
  // From the gravest fault to the least: outside the directory, impossible names, replaced programs. The rule
  // that only the index has is the last one.
  const bool only_dots = name.find_first_not_of('.') == std::string::npos;
  if (only_dots || name.find_first_of("/\\") != std::string::npos) {
    findings.Add({"wheel-script-path", Severity::kError, file,
                  fmt::format("the script '{}' would be outside the scripts directory", name),
                  "use letters, digits, '_', '.' and '-'"});
  } else if (name.find('\0') != std::string::npos) {
    findings.Add({"wheel-script-path", Severity::kError, file,
                  "a script name contains a NUL byte, which no file name can",
                  "use letters, digits, '_', '.' and '-'"});
  } else if (name.size() > kMaxFileName) {
    findings.Add(
        {"wheel-script-path", Severity::kError, file,
         fmt::format("a script name has {} bytes, but file names have at most {}", name.size(), kMaxFileName),
         "shorten the name"});
  } else if (IsInterpreterName(name)) {
    findings.Add({"wheel-script-interpreter", Severity::kError, file,
                  fmt::format("the script '{}' would overwrite the interpreter", name),
                  "give it another name"});
  } else if (IsEnvironmentProgram(name, project)) {
    findings.Add({"wheel-install-collision", Severity::kError, file,
                  fmt::format("the script '{}' would overwrite a program of the environment", name),
                  "give it another name"});
  } else if (!IsScriptName(name)) {
    findings.Add({"wheel-script-name", Severity::kError, file,
                  fmt::format("'{}' cannot be the name of a script", name),
                  "use letters, digits, '_', '.' and '-'"});
  }
}

/// Against files of .data that are installed to the directory of scripts.
void CheckScriptPlace(const WheelView& view, const std::string& name, const std::string& file,
                      LimitedFindings& findings) {
  std::vector<std::string> places = {"scripts/" + name, "data/bin/" + name};
  if (IsForWindows(view.file_name.tag)) {
    places.push_back("scripts/" + name + ".exe");
    places.push_back("data/Scripts/" + name + ".exe");
  }
  for (const std::string& place : places) {
    const std::string path = fmt::format("{}.data/{}", view.file_name.Stem(), place);
    if (view.member_names.contains(path)) {
      findings.Add({"wheel-install-collision", Severity::kError, file,
                    fmt::format("the script '{}' is installed to the same path as '{}'", name, path),
                    "keep one of them"});
    }
    const auto inside = view.member_names.lower_bound(path + "/");
    if (inside == view.member_names.end() || !inside->starts_with(path + "/")) continue;
    findings.Add({"wheel-data-layout", Severity::kError, file,
                  fmt::format("the script '{}' is a file where '{}' needs a directory", name, *inside),
                  "rename one of them"});
  }
}

/// A keyword of Python cannot name a module or function.
bool IsKeyword(std::string_view word) {
  constexpr std::array<std::string_view, 35> kKeywords = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "for",      "finally",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return std::find(kKeywords.begin(), kKeywords.end(), word) != kKeywords.end();
}

/// The script imports the module and calls the object: both have to be Python.
void CheckScriptReference(const wheel::EntryPoint& point, const std::string& file,
                          LimitedFindings& findings) {
  for (const std::string& part : {point.module, point.object}) {
    const std::vector<std::string> words = Split(part, '.');
    const auto keyword = std::find_if(words.begin(), words.end(), IsKeyword);
    if (keyword == words.end()) continue;
    findings.Add(
        {"wheel-script-target", Severity::kError, file,
         fmt::format("the script '{}' refers to '{}', which is a Python keyword", point.name, *keyword),
         "write module:function"});
  }
}

/// A wheel with compiled files.
void CheckPurity(const WheelView& view, bool marked_as_pure, const std::string& file,
                 std::vector<Finding>& findings) {
  const std::vector<std::string> platforms = Split(view.file_name.tag.platform, '.');
  const bool any = std::find(platforms.begin(), platforms.end(), "any") != platforms.end();
  if (!any && !marked_as_pure) return;
  // Nearly all interpreters have one directory for both kinds of files, so the flag alone breaks little.
  findings.push_back({"wheel-pure-with-binaries", any ? Severity::kError : Severity::kWarning, file,
                      fmt::format("the wheel holds compiled files, but {}",
                                  any ? "its tag is for every platform" : "is marked as pure Python"),
                      "set Root-Is-Purelib to false and use a platform tag"});
}

}  // namespace

bool IsInterpreterName(std::string_view name) {
  // In any case of letters: for macOS and Windows, "Python" and "python" are one file.
  const std::string lower = ToLower(name);
  constexpr std::array<std::string_view, 4> kInterpreters = {"pythonw", "python", "pypy", "graalpy"};
  std::string_view rest = lower;
  const auto* const interpreter = std::find_if(kInterpreters.begin(), kInterpreters.end(),
                                               [&](std::string_view one) { return rest.starts_with(one); });
  if (interpreter == kInterpreters.end()) return false;
  rest.remove_prefix(interpreter->size());
  for (const std::string_view end : {".exe", ".py"}) {
    if (rest.ends_with(end)) rest.remove_suffix(end.size());
  }
  if (rest.size() > 1 && rest.ends_with("t")) rest.remove_suffix(1);  // free-threaded
  return std::all_of(rest.begin(), rest.end(), [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

bool IsForWindows(const wheel::Tag& tag) {
  const std::vector<std::string> platforms = Split(tag.platform, '.');
  return std::any_of(platforms.begin(), platforms.end(), [](const std::string& platform) {
    return platform == "any" || platform.starts_with("win");
  });
}

bool IsEnvironmentProgram(std::string_view name, std::string_view project) {
  constexpr std::array<std::string_view, 8> kActivation = {
      "activate",    "activate.bat", "activate.csh",     "activate.fish",
      "activate.nu", "activate.ps1", "activate_this.py", "deactivate.bat"};
  const std::string lower = ToLower(name);
  if (std::find(kActivation.begin(), kActivation.end(), lower) != kActivation.end()) return true;
  std::string_view program = lower;
  if (program.ends_with(".exe")) program.remove_suffix(4);
  // pip writes a second and a third script beside each of these: "pip3.11", "easy_install-3.11".
  if (program == "easy_install") return project != "setuptools" && project != "distribute";
  return program.starts_with("pip") && project != "pip" &&
         program.find_first_not_of("0123456789.", 3) == std::string_view::npos;
}

void CheckWheelMetadata(const WheelView& view, const std::string& text, std::vector<Finding>& findings) {
  const std::string file = view.dist_info_dir + "/METADATA";
  const Result<wheel::CoreMetadata> metadata = wheel::ParseCoreMetadata(text, file);
  if (!metadata) {
    findings.push_back({"wheel-metadata-invalid", Severity::kError, file, Where(metadata.error()),
                        "write one 'Field: value' per line, Metadata-Version, Name and Version among them"});
    return;
  }
  CheckIdentity(view, *metadata, file, findings);
  CheckRequirements(*metadata, file, LimitedFindings(findings));
  CheckLicenses(view, *metadata, file, LimitedFindings(findings));
  CheckSummary(*metadata, file, findings);
}

void CheckWheelFile(const WheelView& view, const std::string& text, Binaries binaries,
                    std::vector<Finding>& findings) {
  const std::string file = view.dist_info_dir + "/WHEEL";
  constexpr std::string_view kFix =
      "write Wheel-Version: 1.0, one Root-Is-Purelib and one Tag per expanded tag";
  if (const Result<void> version = wheel::CheckWheelVersion(text, file); !version) {
    findings.push_back(
        {"wheel-wheel-invalid", Severity::kError, file, Where(version.error()), std::string(kFix)});
    return;
  }
  const Result<wheel::WheelFile> parsed = wheel::ParseWheelFile(text, file);
  if (!parsed) {
    findings.push_back(
        {"wheel-wheel-field", Severity::kError, file, Where(parsed.error()), std::string(kFix)});
    return;
  }
  // uv compares the two at each sync. If they differ, it installs the wheel again (pytorch/pytorch#174265).
  const std::set<wheel::Tag> inside = wheel::ExpandTags(parsed->tags);
  const std::set<wheel::Tag> outside = wheel::ExpandTags({view.file_name.tag});
  if (inside != outside) {
    findings.push_back({"wheel-tag-mismatch", Severity::kError, file,
                        fmt::format("WHEEL has the tags {}; the file name has {}", wheel::JoinTags(inside),
                                    wheel::JoinTags(outside)),
                        "write the same tags in both places: ptpkg retag"});
  }
  if (parsed->build != view.file_name.build) {
    findings.push_back(
        {"wheel-build-mismatch", Severity::kError, file,
         fmt::format("WHEEL has the build tag '{}', the file name '{}'", parsed->build, view.file_name.build),
         "write the same build tag in both places, or in none"});
  }
  if (binaries == Binaries::kNone) return;
  CheckPurity(view, parsed->root_is_purelib && binaries == Binaries::kInRoot, file, findings);
}

std::set<std::string> CheckWheelEntryPoints(const WheelView& view, const std::string& text,
                                            std::vector<Finding>& findings) {
  const std::string file = view.dist_info_dir + "/entry_points.txt";
  const Result<std::vector<wheel::EntryPoint>> points = wheel::ParseEntryPoints(text, file);
  if (!points) {
    findings.push_back({"wheel-entry-points-invalid", Severity::kError, file, Where(points.error()),
                        "write [group] lines and 'name = module:object' lines"});
    return {};
  }
  LimitedFindings limited(findings);
  std::set<std::string> scripts;
  for (const wheel::EntryPoint& point : *points) {
    if (!point.IsScript()) continue;
    CheckScriptName(point.name, view.file_name.name, file, limited);
    CheckScriptPlace(view, point.name, file, limited);
    CheckScriptReference(point, file, limited);
    if (!scripts.insert(point.name).second) {
      limited.Add({"wheel-install-collision", Severity::kError, file,
                   fmt::format("the script '{}' is installed twice", point.name), "keep one of them"});
    }
    if (point.object.empty()) {
      limited.Add({"wheel-script-target", Severity::kError, file,
                   fmt::format("the script '{}' has a module but no function", point.name),
                   "write module:function"});
    }
    if (!HasModule(view, point.module)) {
      limited.Add(
          {"wheel-script-target", Severity::kWarning, file,
           fmt::format("the script '{}' runs '{}', which is not in the wheel", point.name, point.module),
           "add the file, or require a distribution that provides it"});
    }
  }
  return scripts;
}

}  // namespace ptpkg::verify
