#include "convert/tree/wheel_tree.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "conda/info/noarch.h"
#include "conda/info/paths_json.h"
#include "support/text/globs.h"
#include "support/text/text.h"

namespace ptpkg::convert {

namespace {

std::string StemOf(const Distribution& distribution) {
  return distribution.dist_info.substr(0,
                                       distribution.dist_info.size() - std::string_view(".dist-info").size());
}

class WheelTreeMaker {
 public:
  WheelTreeMaker(Env& env, const StagedTree& prefix, const Distribution& distribution,
                 const WheelTreeOptions& options, const AbsPath& root)
      : env_(env),
        prefix_(prefix),
        distribution_(distribution),
        options_(options),
        data_((options.stem.empty() ? StemOf(distribution) : options.stem) + ".data/"),
        builder_(env, root) {}

  Result<WheelTree> Run() {
    PTPKG_TRY(const std::vector<wheel::EntryPoint> scripts, ScriptsOf(distribution_.entry_points));
    for (const wheel::EntryPoint& script : scripts) generated_.insert(script.name);
    PTPKG_CHECK(FindForeign());
    for (const TreeEntry& entry : prefix_.entries) PTPKG_CHECK(Place(entry));
    result_.payload = std::move(builder_).Finish();
    return std::move(result_);
  }

 private:
  /// Destination of a file, but for .dist-info.
  enum class Area : std::uint8_t { kSitePackages, kScripts, kData };

  /// The name in bin/, which a noarch package calls python-scripts/.
  [[nodiscard]] std::optional<std::string> ScriptName(const RelPath& path) const {
    const bool noarch = distribution_.site_packages == kNoarchSitePackages;
    const std::string installed = noarch ? conda::FromNoarch(path, "3").str() : path.str();
    return installed.starts_with("bin/") ? std::optional(installed.substr(4)) : std::nullopt;
  }

  [[nodiscard]] Area AreaOf(const RelPath& path) const {
    if (path.str().starts_with(distribution_.site_packages + "/")) return Area::kSitePackages;
    return ScriptName(path) ? Area::kScripts : Area::kData;
  }

  [[nodiscard]] RelPath PlaceOf(const RelPath& path) const {
    if (path.str().starts_with(distribution_.site_packages + "/"))
      return RelPath::Literal(path.str().substr(distribution_.site_packages.size() + 1));
    if (const auto script = ScriptName(path)) return RelPath::Literal(data_ + "scripts/" + *script);
    return RelPath::Literal(data_ + "data/" + path.str());
  }

  /// Finds the files of the prefix's other distributions, by their RECORDs: bin/ and lib/ have no directory
  /// for each distribution.
  Result<void> FindForeign() {
    const std::string own = distribution_.site_packages + "/" + distribution_.dist_info;
    std::set<std::string> mine;
    for (const std::string& folder : DistInfoFolders(prefix_)) {
      PTPKG_TRY(std::set<std::string> recorded, RecordedPaths(env_, prefix_, folder));
      if (folder == own) {
        mine = std::move(recorded);
      } else {
        foreign_folders_.push_back(folder + "/");
        foreign_.merge(recorded);
      }
    }
    // A file that several RECORDs list is ours as well (old namespace packages share an __init__.py).
    for (const std::string& path : mine) foreign_.erase(path);
    return Ok();
  }

  [[nodiscard]] bool IsForeign(const std::string& path) const {
    return foreign_.contains(path) ||
           std::any_of(foreign_folders_.begin(), foreign_folders_.end(),
                       [&](const std::string& folder) { return path.starts_with(folder); });
  }

  Result<void> Place(const TreeEntry& entry) {
    const std::string& path = entry.path.str();
    if (Excluded(path) || IsForeign(path) || path.starts_with("conda-meta/")) return Ok();
    const auto script = ScriptName(entry.path);
    // Installers make these from entry_points.txt.
    if (script && generated_.contains(*script)) return Ok();
    const std::string dist_info = distribution_.site_packages + "/" + distribution_.dist_info + "/";
    if (path.starts_with(dist_info)) return PlaceDistInfo(entry, path.substr(dist_info.size()));
    if (entry.kind == FileKind::kSymlink) return PlaceLink(entry);
    return PlaceContent(entry, entry.path);
  }

  /// Wheels have no links; the writer copies what a link of the payload leads to. One whose target lies
  /// elsewhere in the wheel than in the prefix is a copy already here.
  Result<void> PlaceLink(const TreeEntry& link) {
    const TreeEntry* target = conda::LinkedFile(prefix_, link);
    const Area area = AreaOf(link.path);
    if (target != nullptr && (area == Area::kScripts || area != AreaOf(target->path)))
      return PlaceContent(*target, link.path);
    if (area != Area::kScripts) return builder_.Link(prefix_, link, PlaceOf(link.path));
    env_.reporter.Warn(fmt::format("skipped '{}': it is a link to '{}', which is not in the package",
                                   link.path.str(), link.link_target));
    return Ok();
  }

  /// Adds the file `entry` as `path` says.
  Result<void> PlaceContent(const TreeEntry& entry, const RelPath& path) {
    if (ScriptName(path)) {
      PTPKG_TRY(const std::optional<std::string> script, PortableScript(entry));
      if (script) return builder_.AddText(PlaceOf(path), *script, 0755);
    }
    return builder_.Link(prefix_, entry, PlaceOf(path));
  }

  [[nodiscard]] bool Excluded(const std::string& path) const {
    return MatchesAnyGlob(options_.exclude, path);
  }

  Result<void> PlaceDistInfo(const TreeEntry& entry, const std::string& name) {
    if (IsInstallerFile(name) || IsRewrittenInWheel(name)) return Ok();
    PTPKG_TRY(std::string text, ReadFile(env_.fs, prefix_.root / entry.path));
    result_.dist_info.emplace(name, std::move(text));
    return Ok();
  }

  /// The text with "#!python" as its first line, if the file is a script of the prefix's own interpreter.
  Result<std::optional<std::string>> PortableScript(const TreeEntry& entry) {
    // A larger file of bin/ is a program, not a script.
    constexpr std::uint64_t kLargestScript = 1U << 20U;
    if (options_.prefix_placeholder.empty() || entry.size_bytes > kLargestScript)
      return std::optional<std::string>();
    PTPKG_TRY(const std::string text, ReadFile(env_.fs, prefix_.root / entry.path));
    if (!text.starts_with("#!" + options_.prefix_placeholder)) return std::optional<std::string>();
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (text.substr(0, end).find("python") == std::string::npos) return std::optional<std::string>();
    return std::optional("#!python" + text.substr(end));
  }

  Env& env_;
  const StagedTree& prefix_;
  const Distribution& distribution_;
  const WheelTreeOptions& options_;
  std::string data_;  // "toy-1.0.data/"
  TreeBuilder builder_;
  std::set<std::string> generated_;  // names of scripts that installers make
  std::set<std::string> foreign_;
  std::vector<std::string> foreign_folders_;
  WheelTree result_;
};

}  // namespace

Result<WheelTree> MakeWheelTree(Env& env, const StagedTree& prefix, const Distribution& distribution,
                                const WheelTreeOptions& options, const AbsPath& root) {
  return WheelTreeMaker(env, prefix, distribution, options, root).Run();
}

}  // namespace ptpkg::convert
