// Places of installed files. Layer: verify. Source: rattler install/python.rs, conda core/path_actions.py.
//
// Installers move files of noarch python packages and make programs of their entry points, so two members can
// meet at one place. Such a package is installed on Unix and on Windows, whose places differ. Unix is checked
// first, and Windows adds only the collisions that Unix doesn't have.

#include "verify/conda/conda_place_checks.h"

#include <fmt/core.h>
#include <map>

#include "conda/info/noarch.h"
#include "support/text/text.h"

namespace ptpkg::verify {
namespace {

constexpr std::string_view kFix = "rename or remove one of them";

/// For any version of Python: a package that itself brings "lib/python3.11/…" meets that version.
std::string UnixPlace(const std::string& path, bool noarch_python) {
  if (!noarch_python) return path;
  std::string place = conda::FromNoarch(RelPath::Literal(path), "X").str();
  constexpr std::string_view kLib = "lib/python";
  if (!place.starts_with(kLib)) return place;
  const std::size_t end = std::min(place.find('/', kLib.size()), place.size());
  return std::string(kLib) + "X" + place.substr(end);
}

std::string WindowsPlace(const std::string& path) {
  for (const auto& [packed, installed] :
       {std::pair<std::string_view, std::string>{"site-packages/", "Lib/site-packages/"},
        {"python-scripts/", "Scripts/"}}) {
    if (path.starts_with(packed)) return installed + path.substr(packed.size());
  }
  return path;
}

class Places {
 public:
  explicit Places(std::vector<Finding>& findings) : limited_(findings) {}

  void Add(const std::string& place, const std::string& what) {
    const auto [found, added] = taken_.emplace(place, what);
    if (!added) Report(place, what, found->second);
  }

  /// Call when all places are known.
  void CheckFolders() {
    for (const auto& [place, what] : taken_) {
      // A file cannot be where another file needs a directory.
      for (std::size_t slash = place.find('/'); slash != std::string::npos;
           slash = place.find('/', slash + 1)) {
        const auto file = taken_.find(place.substr(0, slash));
        if (file != taken_.end()) Report(file->first, what, file->second);
      }
    }
  }

 private:
  void Report(const std::string& place, const std::string& one, const std::string& other) {
    limited_.Add({"conda-place-conflict", Severity::kError, one,
                  fmt::format("'{}' and '{}' are both installed as '{}'", other, one, place),
                  std::string(kFix)});
  }

  std::map<std::string, std::string> taken_;
  LimitedFindings limited_;
};

void CheckNoarchPython(const CondaPlaces& places, std::vector<Finding>& findings) {
  for (const char* folder : {"site-packages", "python-scripts"}) {
    if (!places.files.contains(folder)) continue;
    findings.push_back({"conda-place-conflict", Severity::kError, folder,
                        "is a file where installers of noarch packages expect a directory",
                        std::string(kFix)});
  }
  Places on_unix(findings);
  for (const std::string& path : places.files) on_unix.Add(UnixPlace(path, true), path);
  for (const std::string& name : places.programs)
    on_unix.Add("bin/" + name, fmt::format("entry point {}", name));
  on_unix.CheckFolders();
  // Only what Windows alone sees: the rest was reported.
  Places on_windows(findings);
  for (const std::string& path : places.files) {
    if (path.starts_with("Scripts/") || path.starts_with("Lib/")) on_windows.Add(path, path);
  }
  for (const std::string& path : places.files) {
    if (WindowsPlace(path) != path) on_windows.Add(WindowsPlace(path), path);
  }
  for (const std::string& name : std::set<std::string>(places.programs.begin(), places.programs.end())) {
    // On Windows, an entry point becomes a launcher and a script.
    for (const char* end : {".exe", "-script.py"}) {
      on_windows.Add(fmt::format("Scripts/{}{}", name, end), fmt::format("entry point {}", name));
    }
  }
  on_windows.CheckFolders();
}

}  // namespace

void CheckCondaPlaces(const CondaPlaces& places, std::vector<Finding>& findings) {
  LimitedFindings limited(findings);
  for (const std::string& path : places.files) {
    // In any case of letters: file systems of macOS and Windows take them for the same directory.
    if (!ToLower(path + "/").starts_with("conda-meta/")) continue;
    limited.Add({"conda-meta-member", Severity::kError, path,
                 "the package installs a file at conda-meta/, where the environment keeps its records",
                 "pack only the files that the build script installs, not an environment"});
  }
  if (places.noarch_python) CheckNoarchPython(places, findings);
}

}  // namespace ptpkg::verify
