// Computes the place of each member after the installation, and finds collisions. .data maps to five
// directories of an environment, so two members with different names can have one place.
// Every member becomes a path below an abstract prefix (PlaceOf). site-packages and headers have no fixed
// path there, so they are marked by a byte that no member name has.
//
// Members of one place collide, and so do a
// file and a directory of one name. A second rule covers lib/pythonX.Y/site-packages and other directories of
// schemes in .data/data (FindSharedPlace). They are the wheel's own for some Pythons or for Windows only, and
// the tag decides for which (CanBeOwn). pip, uv and the
// library installer disagree about .data of another name, about directories of scripts, and about empty
// directories. A layout that one of them installs differently is an error.

#include "verify/wheel/wheel_layout_checks.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <map>
#include <optional>
#include <set>

#include "support/text/text.h"
#include "verify/rules/tree_map.h"
#include "verify/wheel/wheel_metadata_checks.h"
#include "wheel/installer_files.h"
#include "wheel/metadata/core_metadata.h"

namespace ptpkg::verify {
namespace {

constexpr std::array<std::string_view, 5> kSchemes = {"purelib", "platlib", "headers", "scripts", "data"};

bool IsScheme(std::string_view name) {
  return std::find(kSchemes.begin(), kSchemes.end(), name) != kSchemes.end();
}

Finding UnknownPlace(const std::string& path, std::string message, std::string_view stem) {
  return {"wheel-data-layout", Severity::kError, path, std::move(message),
          fmt::format("use '{}.data/' with purelib, platlib, headers, scripts or data", stem)};
}

Finding FolderOfScripts(const std::string& path) {
  return {"wheel-data-scripts", Severity::kError, path,
          "'.data/scripts' contains a directory, where no shell looks for programs",
          "move its scripts to '.data/scripts', or the directory into the package"};
}

/// Directories that each environment has.
bool IsPrefixFolder(std::string_view name) {
  return name == "bin" || name == "include" || name == "lib" || name == "lib64";
}

/// A file of a known part of .data: names that installers refuse, or that an environment has already.
void CheckDataFile(const TreeEntry& entry, const std::vector<std::string>& parts, std::string_view project,
                   LimitedFindings& findings) {
  const bool script = parts[1] == "scripts";
  const bool top_of_prefix = parts[1] == "data" && parts.size() == 3;
  if (script && parts.size() > 3) findings.Add(FolderOfScripts(entry.path.str()));
  const bool program = script || (parts[1] == "data" && parts.size() == 4 && parts[2] == "bin");
  if (program && IsInterpreterName(parts.back())) {
    findings.Add({"wheel-script-interpreter", Severity::kError, entry.path.str(),
                  "the file would overwrite the interpreter", "give it another name"});
  } else if ((program && IsEnvironmentProgram(parts.back(), project)) ||
             (top_of_prefix && parts.back() == "pyvenv.cfg")) {
    findings.Add({"wheel-install-collision", Severity::kError, entry.path.str(),
                  fmt::format("the file would overwrite '{}' of the environment", parts.back()),
                  "give it another name"});
  } else if (top_of_prefix && IsPrefixFolder(parts.back())) {
    findings.Add({"wheel-data-layout", Severity::kError, entry.path.str(),
                  fmt::format("the file is named like a directory of every environment, '{}'", parts.back()),
                  "give it another name"});
  }
}

/// Places that have no fixed path below a prefix. No member of a wheel has this byte in its name.
const std::string kSitePackages = "\1site-packages/";
const std::string kHeaders = "\1headers/";

/// pip accepts every directory of such a name, uv the one named like .dist-info, installer the one named like
/// the file.
bool AgreeOnData(const WheelPlaces& places, std::string_view top) {
  const std::string expected = places.name.Stem() + ".data";
  return top == expected && places.dist_info_dir == places.name.Stem() + ".dist-info" &&
         places.file_name.starts_with(places.name.Stem() + "-");
}

void CheckDataFolder(const WheelPlaces& places, const TreeEntry& entry, LimitedFindings& findings) {
  const std::vector<std::string> parts = entry.path.Components();
  if (!parts[0].ends_with(".data")) return;
  const std::string stem = places.name.Stem();
  if (parts.size() < 3 || !IsScheme(parts[1])) {
    findings.Add(UnknownPlace(entry.path.str(),
                              fmt::format("installers don't install files of '{}{}'", parts[0],
                                          parts.size() > 1 ? "/" + parts[1] : ""),
                              stem));
  } else if (!AgreeOnData(places, parts[0])) {
    findings.Add(UnknownPlace(entry.path.str(),
                              fmt::format("installers don't install files of '{}/{}'", parts[0], parts[1]),
                              stem));
  } else {
    CheckDataFile(entry, parts, places.name.name, findings);
  }
}

/// A path of .data/data that another scheme can have too.
struct SharedPlace {
  std::string python = {};  ///< "3.11", of lib/python3.11/…; "": a place on Windows, for any Python.
  std::string place = {};   ///< Of the other scheme, as PlaceOf.
};

/// "3.11" of "python3.11", "python3.13t" and "pypy3.11"; "" for other names.
std::string PythonOfFolder(std::string_view name) {
  for (const std::string_view kind : {"python", "pypy"}) {
    if (!name.starts_with(kind) || name.find('.') == std::string_view::npos) continue;
    const std::string_view version = name.substr(kind.size());
    return std::string(version.substr(0, version.find_last_of("0123456789") + 1));
  }
  return {};
}

/// Where schemes lie below a prefix: lib/python3.11/site-packages, include/python3.11/toy (below
/// include/site in virtual environments), and on Windows Lib/site-packages, Include/toy and Scripts.
std::optional<SharedPlace> FindSharedPlace(const std::string& path) {
  const std::vector<std::string> parts = Split(path, '/');
  if (!parts[0].ends_with(".data") || parts.size() < 3 || parts[1] != "data") return std::nullopt;
  const auto part = [&](std::size_t i) { return i < parts.size() ? parts[i] : std::string(); };
  const auto rest = [&](std::size_t from, const std::string& scheme) {
    std::string place = scheme;
    for (std::size_t i = from; i < parts.size(); ++i) place += (i > from ? "/" : "") + parts[i];
    if (from >= parts.size()) place.pop_back();  // the directory of the scheme itself
    return place;
  };
  const std::string top = ToLower(parts[2]);
  if (const std::string python = PythonOfFolder(part(3));
      !python.empty() && part(4) == "site-packages" && (parts[2] == "lib" || parts[2] == "lib64"))
    return SharedPlace{.python = python, .place = rest(5, kSitePackages)};
  if (top == "lib" && ToLower(part(3)) == "site-packages")
    return SharedPlace{.place = rest(4, kSitePackages)};
  if (top == "scripts") return SharedPlace{.place = rest(3, "bin/")};
  if (top != "include") return std::nullopt;
  const std::size_t at = part(3) == "site" ? 4 : 3;
  const std::string python = parts[2] == "include" ? PythonOfFolder(part(at)) : "";
  const std::size_t name = python.empty() ? 3 : at + 1;
  const std::string project = wheel::NormalizeName(parts[0].substr(0, parts[0].find('-')));
  if (wheel::NormalizeName(part(name)) != project) return std::nullopt;
  return SharedPlace{.python = python, .place = rest(name + 1, kHeaders)};
}

/// True if an installation of the wheel can have that place as its own.
bool CanBeOwn(const SharedPlace& data, const wheel::Tag& tag) {
  if (data.python.empty()) return IsForWindows(tag);
  const std::string digits = ReplaceAll(data.python, ".", "");
  const std::vector<std::string> pythons = Split(tag.python, '.');
  const bool is_stable = tag.abi.find("abi3") != std::string::npos;
  return std::any_of(pythons.begin(), pythons.end(), [&](const std::string& python) {
    const std::string version = python.substr(std::min(python.find_first_of("0123456789"), python.size()));
    // "py3" and abi3 are installed into every Python 3, so each of its directories can be the wheel's own.
    const bool is_major = version.size() == 1 || is_stable;
    return is_major ? digits.starts_with(version.substr(0, 1)) : digits == version;
  });
}

/// Path of the file below a prefix. Site-packages has no fixed place in it.
std::string PlaceOf(const std::string& path) {
  if (const auto installed = InstalledPath(path)) return kSitePackages + *installed;
  const std::string below = path.substr(path.find('/') + 1);
  if (below.starts_with("scripts/")) return "bin/" + below.substr(8);
  if (below.starts_with("headers/")) return kHeaders + below.substr(8);
  return below.starts_with("data/") ? below.substr(5) : below;
}

/// installer refuses to write a file twice; pip and uv keep the later one, by orders of their own. No
/// installer writes a file and a directory of one name.
void CheckCollisions(const WheelPlaces& places, const StagedTree& tree, LimitedFindings findings) {
  std::map<std::string, std::string> by_place;
  const auto add = [&](const std::string& path, const std::string& other) {
    findings.Add({"wheel-install-collision", Severity::kError, path,
                  fmt::format("is installed to the same path as '{}'", other), "keep one of them"});
  };
  for (const TreeEntry& entry : tree.entries) {
    const auto [found, added] = by_place.emplace(PlaceOf(entry.path.str()), entry.path.str());
    if (!added) add(entry.path.str(), found->second);
  }
  const auto add_folder = [&](const std::string& path, const std::string& inside) {
    findings.Add({"wheel-data-layout", Severity::kError, path,
                  fmt::format("'{}' needs a directory with the name of this file", inside),
                  "rename one of them"});
  };
  // The first file below the directory `place`. In the map, paths below it follow "place/", so one look-up
  // tells.
  const auto inside_of = [&](const std::string& place) {
    const auto inside = by_place.lower_bound(place + "/");
    return inside != by_place.end() && inside->first.starts_with(place + "/") ? inside : by_place.end();
  };
  for (const TreeEntry& entry : tree.entries) {
    const std::string& path = entry.path.str();
    const auto shared = FindSharedPlace(path);
    if (!shared || !CanBeOwn(*shared, places.name.tag)) continue;
    const std::string& place = shared->place;
    if (const auto own = by_place.find(place); own != by_place.end()) add(own->second, path);
    if (const auto inside = inside_of(place); inside != by_place.end()) add_folder(path, inside->second);
    for (std::size_t slash = place.find('/'); slash != std::string::npos;
         slash = place.find('/', slash + 1)) {
      const auto above = by_place.find(place.substr(0, slash));
      if (above != by_place.end()) add_folder(above->second, path);
    }
  }
  for (const auto& [place, path] : by_place) {
    if (const auto inside = inside_of(place); inside != by_place.end()) add_folder(path, inside->second);
  }
}

/// Directories where pip and uv read or write a file of .dist-info.
void CheckDocumentFolders(const std::vector<archive::ZipReader::Member>& members, LimitedFindings& findings) {
  constexpr std::array<std::string_view, 8> kDocuments = {"METADATA",         "WHEEL",        "RECORD",
                                                          "entry_points.txt", "INSTALLER",    "REQUESTED",
                                                          "direct_url.json",  "uv_cache.json"};
  std::set<std::string> reported;
  for (const archive::ZipReader::Member& member : members) {
    const std::vector<std::string> parts = Split(member.name, '/');
    if (parts.size() < 3 || !parts[0].ends_with(".dist-info")) continue;
    const std::string folder = fmt::format("{}/{}", parts[0], parts[1]);
    const bool is_document = std::find(kDocuments.begin(), kDocuments.end(), parts[1]) != kDocuments.end();
    if (!is_document || !reported.insert(folder).second) continue;
    findings.Add({"wheel-dist-info", Severity::kError, folder,
                  "is a directory where installers expect a file", "rename or remove the directory"});
  }
}

}  // namespace

void CheckWheelLayout(const WheelPlaces& places, const StagedTree& tree, std::vector<Finding>& findings) {
  LimitedFindings limited(findings);
  for (const TreeEntry& entry : tree.entries) {
    const std::string& path = entry.path.str();
    if (entry.kind != FileKind::kRegular) {
      limited.Add({"wheel-symlink", Severity::kError, path,
                   "the member is a symbolic link, which installers write as a text file",
                   "pack a copy of its target"});
    }
    if (path.ends_with(".pyc") || path.ends_with(".pyo") || path.starts_with("__pycache__/") ||
        path.find("/__pycache__/") != std::string::npos) {
      limited.Add({"wheel-byte-code", Severity::kWarning, path,
                   "compiled Python code depends on the interpreter and the build time",
                   "exclude __pycache__ from the wheel"});
    }
    CheckDataFolder(places, entry, limited);
  }
  CheckCollisions(places, tree, LimitedFindings(findings));
  for (const std::string_view leftover : wheel::kInstallerFiles) {
    const std::string path = fmt::format("{}/{}", places.dist_info_dir, leftover);
    if (tree.Find(path) == nullptr) continue;
    // Tools that install by the library 'installer' write this one, which it refuses to do twice.
    limited.Add({"wheel-install-leftover", leftover == "INSTALLER" ? Severity::kError : Severity::kWarning,
                 path, "the file describes an installation or signs RECORD: it does not belong in a wheel",
                 "remove it from the wheel"});
  }
}

void CheckWheelFolders(const std::vector<archive::ZipReader::Member>& members,
                       const std::set<std::string>& scripts, std::vector<Finding>& findings) {
  LimitedFindings limited(findings);
  CheckDocumentFolders(members, limited);
  std::set<std::string> filled;              // .dist-info directories with files
  std::map<std::string, std::string> files;  // by place
  for (const std::string& script : scripts) files.emplace("bin/" + script, script);
  for (const archive::ZipReader::Member& member : members) {
    const std::string& name = member.name;
    if (name.ends_with('/')) continue;
    filled.insert(name.substr(0, name.find('/')));
    files.emplace(PlaceOf(name), name);
  }
  for (const archive::ZipReader::Member& member : members) {
    const std::string& name = member.name;
    if (!name.ends_with('/')) continue;
    const std::vector<std::string> parts = Split(std::string_view(name).substr(0, name.size() - 1), '/');
    if (parts[0].ends_with(".dist-info") && !filled.contains(parts[0])) {
      limited.Add({"wheel-dist-info", Severity::kError, parts[0], "is an empty .dist-info directory",
                   "keep only the .dist-info directory of the wheel"});
    }
    const std::string folder = Join(parts, "/");
    const auto shared = FindSharedPlace(folder);
    const bool is_scheme = parts.size() == 2 && parts[0].ends_with(".data");
    const auto file = is_scheme ? files.end() : files.find(shared ? shared->place : PlaceOf(folder));
    if (file != files.end()) {
      limited.Add({"wheel-data-layout", Severity::kError, name,
                   fmt::format("uv creates this directory where it writes the file '{}'", file->second),
                   "remove the directory"});
    }
    if (!parts[0].ends_with(".data") || parts.size() < 2) continue;
    const std::string_view stem = std::string_view(parts[0]).substr(0, parts[0].size() - 5);
    if (!IsScheme(parts[1])) {
      limited.Add(UnknownPlace(name, fmt::format("uv does not install the directory '{}'", parts[1]), stem));
    } else if (parts[1] == "scripts" && parts.size() > 2) {
      limited.Add(FolderOfScripts(name));
    }
  }
}

}  // namespace ptpkg::verify
