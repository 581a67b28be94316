// A conda package states the Pythons that install it by its dependencies, and the place of a module names
// one: "lib/python3.11/site-packages". Solvers compare only the dependencies, so a wrong place or suffix
// shows first as an ImportError.
//
// 1. Each directory of modules belongs to one Python ("lib/python3.11/site-packages"), to all Pythons of the
//    dependencies (site-packages/ of noarch packages, Lib/site-packages/ on Windows), or to none
//    (site-packages/ of other packages, Lib/site-packages/ on other systems, lib64 and dist-packages).
// 2. The check reports a directory of a Python that the dependencies exclude, and a Python that they admit
//    and that has no directory.
// 3. In the other directories each module must have a suffix that the directory's Pythons look for.
//
// An error needs dependencies on Python. Without them a program of the package may run the modules by any
// means.

#include "verify/conda/conda_module_checks.h"

#include <algorithm>
#include <fmt/core.h>
#include <regex>

#include "support/text/json.h"
#include "support/text/text.h"
#include "verify/elf/module_checks.h"
#include "versions/constraint.h"
#include "versions/match_spec.h"
#include "wheel/interpreter_tags.h"

namespace ptpkg::verify {
namespace {

constexpr std::string_view kId = "conda-python-module";

/// The build of "python_abi 3.13.* *_cp313t": "cp313t".
std::string_view LastWord(std::string_view build) { return build.substr(build.rfind('_') + 1); }

/// The wheel tag of a subdir's platform; "" if it has no modules or is not known here.
std::string PlatformOfSubdir(const std::string& subdir) {
  constexpr std::string_view kLinux = "linux-";
  if (subdir.starts_with("osx-")) return "macosx_11_0";
  if (subdir == "win-64") return "win_amd64";
  if (subdir.starts_with("win-")) return "win" + std::string(subdir == "win-32" ? "32" : "_arm64");
  if (!subdir.starts_with(kLinux)) return {};
  const std::string machine = subdir.substr(kLinux.size());
  // conda's Pythons need glibc.
  return "manylinux_" + (machine == "64" ? "x86_64" : machine == "32" ? "i686" : machine);
}

class DependencyReader {
 public:
  /// False if the Pythons cannot be told from this dependency.
  bool Add(const std::string& text) {
    const std::string_view name = versions::MatchSpecName(text);
    if (name == "python-freethreading") flags_ = "t";
    if (name == "python-gil") flags_ = "";
    if (name != "python" && name != "cpython" && name != "python_abi") return true;
    const auto spec = versions::MatchSpec::Parse(text);
    auto constraint = spec ? versions::Constraint::Of(*spec) : Result<versions::Constraint>(spec.error());
    if (!constraint || spec->build.find("pypy") != std::string::npos ||
        spec->build.find("graalpy") != std::string::npos)
      return false;
    constraints_.push_back(*std::move(constraint));
    constexpr std::string_view kCPython3 = "cp3";
    const std::string_view build = LastWord(spec->build);
    if (!build.starts_with(kCPython3)) return true;
    const std::size_t end = std::min(build.find_first_not_of("0123456789", kCPython3.size()), build.size());
    version_ = build.substr(2, end - 2);
    flags_ = build.substr(end);
    return true;
  }

  [[nodiscard]] bool HasSome() const { return !constraints_.empty(); }

  [[nodiscard]] std::vector<SearchingPython> Pythons() const {
    std::vector<SearchingPython> pythons;
    AddIfAdmitted(2, wheel::kNewestOf2, pythons);
    for (int minor = 0; minor <= wheel::kNewestOf3; ++minor) AddIfAdmitted(3, minor, pythons);
    return pythons;
  }

 private:
  void AddIfAdmitted(int major, int minor, std::vector<SearchingPython>& pythons) const {
    const std::string version = fmt::format("{}{}", major, minor);
    if (!version_.empty() && version_ != version) return;
    for (int micro = 0; micro < wheel::kMostReleases; ++micro) {
      const auto release = versions::Version::AnyText(fmt::format("{}.{}.{}", major, minor, micro));
      if (!std::all_of(constraints_.begin(), constraints_.end(),
                       [&](const versions::Constraint& one) { return one.version().Matches(release); }))
        continue;
      pythons.push_back({.version = version, .flags = flags_});
      return;
    }
  }

  std::vector<versions::Constraint> constraints_;
  std::string version_;  // "311" of "*_cp311"
  std::optional<std::string> flags_;
};

/// A directory from which Python imports modules.
struct Site {
  std::string version = {};  ///< "311"; "": every Python of the package, or none.
  bool is_lost = false;      ///< No Python imports from it.
  bool is_threaded = false;  ///< "lib/python3.13t": without the global lock.
  std::map<std::string, std::string> files = {};

  [[nodiscard]] bool IsOf(const SearchingPython& python) const {
    if (version.empty()) return !is_lost;
    return python.version == version && (!python.flags || python.flags->starts_with('t') == is_threaded);
  }
};

using Sites = std::map<std::string, Site>;

/// The end of "lib/python3.11/site-packages" in `path`, or of a directory like it that pip fills on other
/// systems, and in which no Python of conda looks; 0 if it does not begin like this.
std::size_t ReadSite(const std::string& path, Site& site) {
  static const std::regex kSites(
      "(lib|lib64|local/lib)/python([23])(?:\\.([0-9]{1,2})(t?))?/(site|dist)-packages/");
  std::smatch match;
  if (path.find("-packages/") == std::string::npos) return 0;
  if (!std::regex_search(path, match, kSites, std::regex_constants::match_continuous)) return 0;
  const bool has_minor = match[3].matched;
  site.is_lost = match[1] != "lib" || match[5] != "site" || !has_minor;
  site.is_threaded = match.length(4) != 0;
  if (!site.is_lost) site.version = match.str(2) + match.str(3);
  return static_cast<std::size_t>(match.length()) - 1;
}

/// The directory of modules that `path` is in; "" for other paths.
std::string FindSite(const CondaPythons& pythons, const std::string& path, Site& site) {
  constexpr std::string_view kOpen = "site-packages/";
  constexpr std::string_view kWindows = "Lib/site-packages/";
  const std::string& platform = pythons.importers.platform;
  const bool is_windows = platform.starts_with("win");
  // Windows ignores case.
  const std::string named = is_windows ? ToLower(path) : path;
  if (named.starts_with(kOpen)) {
    site.is_lost = !pythons.is_noarch;
    return path.substr(0, kOpen.size() - 1);
  }
  // A package for all systems may have files for Windows.
  if (!platform.empty() && ToLower(path.substr(0, kWindows.size())) == ToLower(kWindows)) {
    site.is_lost = !is_windows;
    return std::string(is_windows ? kWindows : path).substr(0, kWindows.size() - 1);
  }
  const std::size_t end = ReadSite(named, site);
  if (is_windows && end != 0) site = {.is_lost = true};
  return path.substr(0, end);
}

Sites SitesOf(const CondaPythons& pythons, const StagedTree& tree) {
  Sites sites;
  for (const TreeEntry& entry : tree.entries) {
    const std::string& path = entry.path.str();
    Site site;
    const std::string folder = FindSite(pythons, path, site);
    if (folder.empty()) continue;
    sites.try_emplace(folder, site).first->second.files.emplace(folder + path.substr(folder.size()), path);
  }
  return sites;
}

/// True for files of an interpreter: such a package decides itself where its Python looks.
bool HasInterpreter(const StagedTree& tree) {
  return std::any_of(tree.entries.begin(), tree.entries.end(), [](const TreeEntry& entry) {
    const std::string& path = entry.path.str();
    const bool is_library = path.starts_with("lib/python") && path.ends_with("/os.py") &&
                            std::count(path.begin(), path.end(), '/') == 2;
    return is_library || path == "bin/python" || path.starts_with("bin/python3") || path == "python.exe";
  });
}

int Minor(const SearchingPython& python) { return std::stoi(python.version.substr(1)); }

/// "Python 2.7, 3.0 to 3.10, 3.12 or later"
std::string NamePythons(const std::vector<SearchingPython>& pythons) {
  constexpr std::size_t kPrefix = std::string_view("Python ").size();
  const auto is_gap = [](const SearchingPython& one, const SearchingPython& next) {
    return one.version.front() != next.version.front() || Minor(one) + 1 != Minor(next);
  };
  std::vector<std::string> ranges;
  for (auto begin = pythons.begin(); begin != pythons.end();) {
    auto last = std::adjacent_find(begin, pythons.end(), is_gap);
    if (last == pythons.end()) --last;
    std::string range = begin->Words().substr(kPrefix);
    if (Minor(*last) == wheel::kNewestOf3) {
      range += " or later";
    } else if (last != begin) {
      range += " to " + last->Words().substr(kPrefix);
    }
    ranges.push_back(std::move(range));
    begin = last + 1;
  }
  return "Python " + Join(ranges, ", ");
}

class CondaModuleChecks {
 public:
  CondaModuleChecks(const CondaPythons& pythons, const SymbolsByPath& symbols, std::vector<Finding>& findings)
      : pythons_(pythons), symbols_(symbols), findings_(findings) {}

  void Run(const Sites& sites) {
    if (pythons_.IsKnown()) CheckPlaces(sites);
    for (const auto& [folder, site] : sites) CheckSite(folder, site);
  }

 private:
  [[nodiscard]] bool IsFound(const Site& site) const {
    const auto& all = pythons_.importers.pythons;
    return std::any_of(all.begin(), all.end(), [&](const SearchingPython& one) { return site.IsOf(one); });
  }

  void Add(Severity severity, const std::string& file, std::string message, std::string fix) {
    findings_.Add({std::string(kId), severity, file, std::move(message), std::move(fix)});
  }

  void CheckPlaces(const Sites& sites) {
    const auto found =
        std::find_if(sites.begin(), sites.end(), [&](const auto& one) { return IsFound(one.second); });
    for (const auto& [folder, site] : sites) {
      if (IsFound(site)) continue;
      Add(found != sites.end() ? Severity::kWarning : Severity::kError, site.files.begin()->second,
          fmt::format("is in '{}', but the package depends on {}, which looks elsewhere", folder,
                      NamePythons(pythons_.importers.pythons)),
          site.is_lost
              ? "set 'noarch: python' and pack the files as 'site-packages/…', or pack them into the "
                "site-packages of one Python"
              : "depend on the Python for which the package was built");
    }
    if (found == sites.end()) return;
    std::vector<SearchingPython> others = pythons_.importers.pythons;
    std::erase_if(others, [&](const SearchingPython& python) {
      return std::any_of(sites.begin(), sites.end(),
                         [&](const auto& one) { return one.second.IsOf(python); });
    });
    if (others.empty()) return;
    // A noarch package has no build for another Python.
    Add(pythons_.is_noarch ? Severity::kError : Severity::kWarning, found->second.files.begin()->second,
        fmt::format("is in '{}', but the dependencies also admit {}, which looks elsewhere", found->first,
                    NamePythons(others)),
        pythons_.is_noarch ? "pack the files as 'site-packages/…'"
                           : "depend on the Python for which the package was built");
  }

  /// The Pythons that look into a directory.
  [[nodiscard]] ImportingPythons ImportersOf(const Site& site) const {
    constexpr std::string_view kFirstWithoutM = "38";
    ImportingPythons importers = pythons_.importers;
    importers.is_open = site.version.empty();
    if (importers.is_open) return importers;
    const bool is_old = site.version.size() == 2 && site.version < kFirstWithoutM;
    SearchingPython python{.version = site.version};
    if (!is_old) python.flags = site.is_threaded ? "t" : "";
    importers.pythons = {python};
    return importers;
  }

  void CheckSite(const std::string& folder, const Site& site) {
    if (pythons_.IsKnown() ? !IsFound(site) : site.version.empty()) return;
    const Severity severity = pythons_.IsKnown() ? Severity::kError : Severity::kWarning;
    const ImportingPythons importers = ImportersOf(site);
    for (const auto& [key, module] : FindImportedModules(site.files)) {
      const SearchingPython* const without = FirstWithout(importers, module, symbols_);
      if (without == nullptr) continue;
      Add(severity, module.file,
          fmt::format("{}, but in '{}' {} looks for others", module.NameSuffixes(), folder, without->Words()),
          "build the module for that Python and platform");
    }
    std::vector<SearchingPython> older = importers.pythons;
    std::erase_if(older, [](const SearchingPython& python) { return Minor(python) >= kFirstModuleExport; });
    if (older.empty()) return;
    for (const auto& [place, path] : site.files) {
      const auto symbols = symbols_.find(path);
      const std::string hook =
          symbols == symbols_.end() ? std::string() : OnlyExportHook(path, symbols->second);
      if (hook.empty()) continue;
      const std::string function = ModuleNameOf(path).functions.back();
      Add(severity, path,
          fmt::format("exports '{}' without '{}', so {} cannot import it", hook, function,
                      NamePythons(older)),
          fmt::format("export '{}' too, or depend on python >=3.{}", function, kFirstModuleExport));
    }
  }

  const CondaPythons& pythons_;
  const SymbolsByPath& symbols_;
  LimitedFindings findings_;
};

}  // namespace

CondaPythons PythonsOfIndex(const Json& index) {
  CondaPythons found;
  const auto text = [&](const char* key) {
    const auto value = JsonStringOr(index, key, "", "info/index.json");
    return value ? *value : std::string();
  };
  found.is_noarch = text("noarch") == "python";
  found.is_python = text("name") == "python";
  found.importers.platform = PlatformOfSubdir(text("subdir"));
  const auto depends = JsonStringsOr(index, "depends", {}, "info/index.json");
  DependencyReader reader;
  const bool is_readable = depends && std::all_of(depends->begin(), depends->end(),
                                                  [&](const std::string& spec) { return reader.Add(spec); });
  if (is_readable && reader.HasSome()) found.importers.pythons = reader.Pythons();
  return found;
}

void CheckCondaModules(const CondaPythons& pythons, const StagedTree& tree, const SymbolsByPath& symbols,
                       std::vector<Finding>& findings) {
  if (pythons.is_python || HasInterpreter(tree)) return;
  CondaModuleChecks(pythons, symbols, findings).Run(SitesOf(pythons, tree));
}

}  // namespace ptpkg::verify
