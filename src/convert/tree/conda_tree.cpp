// conda copies files into a prefix and replaces the placeholder, and runs no installer of Python. The package
// therefore holds what pip would have made: scripts, INSTALLER, RECORD. Scripts of the staged tree are made
// anew, since their first line names the Python of the build.

#include "convert/tree/conda_tree.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <map>
#include <optional>
#include <set>

#include "support/process/console_script.h"
#include "support/text/text.h"

namespace ptpkg::convert {

namespace {

/// Prefix paths of the scripts that installers make from entry points.
Result<std::map<std::string, wheel::EntryPoint>> ScriptsByPath(std::string_view entry_points) {
  std::map<std::string, wheel::EntryPoint> by_path;
  PTPKG_TRY(std::vector<wheel::EntryPoint> scripts, ScriptsOf(entry_points));
  for (wheel::EntryPoint& script : scripts) {
    const std::string path = "bin/" + script.name;
    by_path.emplace(path, std::move(script));
  }
  return by_path;
}

Result<void> AddScripts(TreeBuilder& builder, const std::map<std::string, wheel::EntryPoint>& scripts,
                        std::string_view prefix_placeholder) {
  for (const auto& [path, script] : scripts) {
    const std::string text =
        ConsoleScriptText({.prefix = prefix_placeholder, .module = script.module, .object = script.object});
    PTPKG_CHECK(builder.AddText(RelPath::Literal(path), text, 0755));
  }
  return Ok();
}

bool IsDistInfoInstallerFile(const TreeEntry& entry) {
  const std::string parent = entry.path.ParentText();
  return parent.ends_with(".dist-info") && BelowSitePackages(entry.path.str()) &&
         IsInstallerFile(entry.path.Name());
}

}  // namespace

Result<StagedTree> MakeCondaTree(Env& env, const StagedTree& staged, std::string_view prefix_placeholder,
                                 const AbsPath& root) {
  std::map<std::string, wheel::EntryPoint> scripts;
  const std::vector<std::string> folders = DistInfoFolders(staged);
  for (const std::string& folder : folders) {
    const std::string path = folder + "/entry_points.txt";
    if (staged.Find(path) == nullptr) continue;
    PTPKG_TRY(const std::string text, ReadFile(env.fs, staged.root / RelPath::Literal(path)));
    PTPKG_TRY(auto more, ScriptsByPath(text), fmt::format("while reading '{}'", path));
    scripts.merge(more);
  }
  TreeBuilder builder(env, root);
  for (const TreeEntry& entry : staged.entries) {
    if (scripts.contains(entry.path.str()) || IsDistInfoInstallerFile(entry)) continue;
    PTPKG_CHECK(builder.Link(staged, entry, entry.path));
  }
  PTPKG_CHECK(AddScripts(builder, scripts, prefix_placeholder));
  for (const std::string& folder : folders) {
    PTPKG_CHECK(builder.AddText(RelPath::Literal(folder + "/INSTALLER"), "conda\n"));
  }
  return std::move(builder).Finish();
}

namespace {

/// The text of a script that begins with "#!python" (or "#!pythonw"), with the interpreter below
/// `prefix_placeholder`, whatever stands behind it on the line; nullopt for any other script.
Result<std::optional<std::string>> WithInterpreter(Env& env, const AbsPath& script,
                                                   std::string_view prefix_placeholder) {
  // The mark of the wheel specification (PEP 427, "Recommended installer features").
  constexpr std::string_view kMark = "#!python";
  std::array<std::byte, kMark.size()> head{};
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(script, OpenMode::kRead));
  PTPKG_TRY(const std::size_t count, file->ReadAt(0, head));
  if (AsText(Bytes(head).first(count)) != kMark) return std::optional<std::string>();
  PTPKG_TRY(const std::string text, ReadFile(env.fs, script));
  const std::size_t end = std::min(text.find('\n'), text.size());
  return std::optional(fmt::format("#!{}/bin/python{}", prefix_placeholder, text.substr(end)));
}

/// Adds a file of .data/scripts as installers do: executable, with `text` where that is given.
Result<void> AddScript(TreeBuilder& builder, const StagedTree& unpacked, const TreeEntry& entry,
                       const RelPath& target, const std::optional<std::string>& text) {
  if (text) return builder.AddText(target, *text, 0755);
  if (entry.mode == 0755) return builder.Link(unpacked, entry, target);
  return builder.Copy(unpacked, entry, target, 0755);
}

/// Path of "<stem>.data/<scheme>/rest" in a prefix (sysconfig's posix_prefix scheme).
Result<std::string> PlaceOfDataFile(std::string_view below_data, const wheel::WheelInfo& info,
                                    const WheelPlacement& placement) {
  const std::size_t slash = below_data.find('/');
  const std::string_view scheme = below_data.substr(0, slash);
  const std::string_view rest = slash == std::string_view::npos ? "" : below_data.substr(slash + 1);
  if (rest.empty()) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' is directly in the .data directory", below_data));
  }
  if (scheme == "purelib" || scheme == "platlib") return fmt::format("{}/{}", placement.site_packages, rest);
  if (scheme == "scripts") return fmt::format("bin/{}", rest);
  if (scheme == "data") return std::string(rest);
  if (scheme == "headers") {
    // lib/python3.11/site-packages → include/python3.11/<name>
    const std::vector<std::string> parts = Split(placement.site_packages, '/');
    const std::string python = parts.size() > 1 ? parts[1] : "python";
    return fmt::format("include/{}/{}/{}", python, info.file_name.name, rest);
  }
  return Error(ErrorCode::kInvalidInput,
               fmt::format("'{}' is not a scheme of a wheel's .data directory", scheme))
      .WithHint("use purelib, platlib, headers, scripts or data");
}

}  // namespace

Result<StagedTree> MakeCondaTreeOfWheel(Env& env, const StagedTree& unpacked, const wheel::WheelInfo& info,
                                        const WheelPlacement& placement, const AbsPath& root) {
  PTPKG_TRY(const auto scripts, ScriptsByPath(info.entry_points));
  const std::string stem =
      info.dist_info_dir.substr(0, info.dist_info_dir.size() - std::string_view(".dist-info").size());
  const std::string data_folder = stem + ".data/";
  TreeBuilder builder(env, root);
  for (const TreeEntry& entry : unpacked.entries) {
    const std::string& path = entry.path.str();
    std::string place = fmt::format("{}/{}", placement.site_packages, path);
    if (path.starts_with(data_folder)) {
      PTPKG_TRY(place, PlaceOfDataFile(path.substr(data_folder.size()), info, placement));
    } else if (entry.path.ParentText() == info.dist_info_dir && IsInstallerFile(entry.path.Name())) {
      continue;
    }
    PTPKG_TRY(const RelPath target, RelPath::Parse(place));
    if (path.starts_with(data_folder + "scripts/") && entry.kind == FileKind::kRegular) {
      PTPKG_TRY(const auto text,
                WithInterpreter(env, unpacked.root / entry.path, placement.prefix_placeholder));
      PTPKG_CHECK(AddScript(builder, unpacked, entry, target, text));
    } else {
      PTPKG_CHECK(builder.Link(unpacked, entry, target));
    }
  }
  // conda makes those of a noarch package where it is installed.
  if (placement.site_packages != kNoarchSitePackages)
    PTPKG_CHECK(AddScripts(builder, scripts, placement.prefix_placeholder));
  PTPKG_CHECK(builder.AddText(
      RelPath::Literal(fmt::format("{}/{}/INSTALLER", placement.site_packages, info.dist_info_dir)),
      "conda\n"));
  return std::move(builder).Finish();
}

Result<void> AddInstalledRecords(Env& env, const StagedTree& staged, StagedTree& tree) {
  const std::vector<std::string> folders = DistInfoFolders(tree);
  for (const std::string& folder : folders) {
    const std::size_t slash = folder.rfind('/');
    Distribution distribution;
    distribution.site_packages = folder.substr(0, slash);
    distribution.dist_info = folder.substr(slash + 1);
    PTPKG_TRY(const std::set<std::string> recorded, RecordedPaths(env, staged, folder));
    std::vector<std::string> owned;
    // The staged RECORD knows the owner of each file, but not the digests, which editing search paths
    // changes.
    for (const TreeEntry& entry : tree.entries) {
      const std::string& path = entry.path.str();
      if (folders.size() == 1 || path.starts_with(folder + "/") || recorded.contains(path))
        owned.push_back(path);
    }
    PTPKG_CHECK(AddTextToTree(env, tree, RelPath::Literal(folder + "/RECORD"),
                              InstalledRecord(tree, distribution, owned)));
  }
  return Ok();
}

}  // namespace ptpkg::convert
