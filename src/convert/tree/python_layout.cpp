#include "convert/tree/python_layout.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "conda/info/noarch.h"
#include "support/text/csv.h"
#include "support/text/text.h"
#include "wheel/installer_files.h"
#include "wheel/metadata/core_metadata.h"

namespace ptpkg::convert {

std::optional<std::string> BelowSitePackages(std::string_view path) {
  constexpr std::string_view kFolder = "site-packages/";
  if (path.starts_with(kFolder)) return std::string(path.substr(kFolder.size()));
  // lib/pythonX.Y/site-packages/…
  const std::vector<std::string> parts = Split(path, '/');
  if (parts.size() < 4 || parts[0] != "lib" || !parts[1].starts_with("python") ||
      parts[2] != "site-packages") {
    return std::nullopt;
  }
  return std::string(path.substr(parts[0].size() + parts[1].size() + 2 + kFolder.size()));
}

bool IsInstallerFile(std::string_view name) {
  const auto& names = wheel::kInstallerFiles;
  return name == "RECORD" || std::find(names.begin(), names.end(), name) != names.end();
}

bool IsRewrittenInWheel(std::string_view name) {
  return name == "METADATA" || name == "WHEEL" || name == "entry_points.txt";
}

std::vector<std::string> DistInfoFolders(const StagedTree& prefix) {
  std::set<std::string> folders;
  for (const TreeEntry& entry : prefix.entries) {
    const auto below = BelowSitePackages(entry.path.str());
    if (!below || entry.path.Name() != "METADATA") continue;
    const std::string folder = entry.path.ParentText();
    // Directly in site-packages. Deeper ones belong to vendored copies (setuptools/_vendor), which pip does
    // not list.
    if (folder.ends_with(".dist-info") && std::count(below->begin(), below->end(), '/') == 1) {
      folders.insert(folder);
    }
  }
  return {folders.begin(), folders.end()};
}

namespace {

Result<std::string> ReadTreeText(Env& env, const StagedTree& tree, const std::string& path) {
  if (tree.Find(path) == nullptr) return std::string();
  return ReadFile(env.fs, tree.root / RelPath::Literal(path));
}

/// "toytorch" of ".../toytorch-1.0.dist-info". The specification writes a '-' of the name as '_', so the
/// first '-' ends it.
std::string NameOfFolder(const std::string& folder) {
  const std::string name = folder.substr(folder.rfind('/') + 1);
  return wheel::NormalizeName(name.substr(0, name.find('-')));
}

}  // namespace

Result<Distribution> FindDistribution(Env& env, const StagedTree& prefix, std::string_view name) {
  std::vector<std::string> folders = DistInfoFolders(prefix);
  if (folders.empty()) {
    return Error(ErrorCode::kNotFound, "the prefix has no Python distribution (no *.dist-info/METADATA)")
        .WithHint("install the project with 'pip install --prefix', or remove 'wheel' from the formats");
  }
  if (!name.empty()) {
    std::erase_if(folders, [&](const std::string& folder) {
      return NameOfFolder(folder) != wheel::NormalizeName(name);
    });
    if (folders.empty()) {
      return Error(ErrorCode::kNotFound, fmt::format("the prefix has no Python distribution '{}'", name));
    }
  }
  if (folders.size() > 1) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the prefix has several Python distributions: {}", fmt::join(folders, ", ")))
        .WithHint("choose one with --distribution NAME, or extra.ptpkg.wheel.name in a recipe");
  }
  const std::string& folder = folders.front();
  Distribution found;
  const std::size_t slash = folder.rfind('/');
  found.site_packages = folder.substr(0, slash);
  found.dist_info = folder.substr(slash + 1);
  PTPKG_TRY(found.metadata, ReadTreeText(env, prefix, folder + "/METADATA"));
  PTPKG_TRY(found.wheel, ReadTreeText(env, prefix, folder + "/WHEEL"));
  PTPKG_TRY(found.entry_points, ReadTreeText(env, prefix, folder + "/entry_points.txt"));
  PTPKG_TRY(found.record, ReadTreeText(env, prefix, folder + "/RECORD"));
  return found;
}

Result<std::set<std::string>> RecordedPaths(Env& env, const StagedTree& tree, const std::string& folder) {
  std::set<std::string> paths;
  PTPKG_TRY(const std::string text, ReadTreeText(env, tree, folder + "/RECORD"));
  PTPKG_TRY(const std::vector<CsvRow> rows, ParseCsv(text, folder + "/RECORD"));
  const std::string site_packages = folder.substr(0, folder.rfind('/'));
  const bool noarch = site_packages == kNoarchSitePackages;
  for (const CsvRow& row : rows) {
    if (row.empty()) continue;
    // The RECORD of a noarch package is that of its installation.
    const auto path = ResolveInTree(noarch ? "lib/python3/site-packages" : site_packages, row.front());
    if (!path) continue;  // leads out of the tree
    const auto parsed = RelPath::Parse(*path);
    if (!parsed) continue;
    const auto packed = noarch ? conda::ToNoarch(*parsed) : std::optional(*parsed);
    if (packed) paths.insert(packed->str());
  }
  return paths;
}

Result<std::string> WithScripts(const std::string& entry_points, const std::vector<std::string>& scripts) {
  if (scripts.empty()) return entry_points;
  PTPKG_TRY(std::vector<wheel::EntryPoint> all, wheel::ParseEntryPoints(entry_points, "entry_points.txt"));
  const std::string text = "[console_scripts]\n" + Join(scripts, "\n") + "\n";
  PTPKG_TRY(std::vector<wheel::EntryPoint> added,
            wheel::ParseEntryPoints(text, "the package's entry points"));
  for (wheel::EntryPoint& script : added) {
    // Both would be one file of bin/. The script that is added wins.
    std::erase_if(all,
                  [&](const wheel::EntryPoint& old) { return old.IsScript() && old.name == script.name; });
    all.push_back(std::move(script));
  }
  return wheel::FormatEntryPoints(std::move(all));
}

Result<std::vector<wheel::EntryPoint>> ScriptsOf(std::string_view entry_points) {
  PTPKG_TRY(std::vector<wheel::EntryPoint> all, wheel::ParseEntryPoints(entry_points, "entry_points.txt"));
  std::erase_if(all, [](const wheel::EntryPoint& entry) { return !entry.IsScript(); });
  for (const wheel::EntryPoint& script : all) {
    // The name comes from a foreign wheel and becomes a file in bin/.
    if (!RelPath::Parse(script.name) || script.name.find('/') != std::string::npos) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}' in entry_points.txt is not a usable script name", script.name));
    }
  }
  return all;
}

std::string InstalledRecord(const StagedTree& prefix, const Distribution& distribution,
                            const std::vector<std::string>& paths) {
  // The specification ("Recording installed projects") asks for no digest in RECORD's own row, which would
  // have to contain itself.
  const std::string own = distribution.dist_info + "/RECORD";
  std::vector<CsvRow> rows;
  for (const std::string& path : paths) {
    const TreeEntry* entry = prefix.Find(path);
    if (entry == nullptr) continue;
    std::string relative = RelativeFrom(distribution.site_packages, path);
    if (relative == own) continue;
    // A link has no content of its own to digest.
    if (entry->kind == FileKind::kSymlink) {
      rows.push_back({std::move(relative), "", ""});
      continue;
    }
    const std::string digest = Base64UrlUnpadded(std::as_bytes(std::span(entry->sha256.bytes)));
    rows.push_back({std::move(relative), "sha256=" + digest, std::to_string(entry->size_bytes)});
  }
  rows.push_back({own, "", ""});
  std::sort(rows.begin(), rows.end());
  std::string text;
  for (const CsvRow& row : rows) text += FormatCsvRow(row);
  return text;
}

}  // namespace ptpkg::convert
