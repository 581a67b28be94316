#include "convert/wheel_tree.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "support/text.h"

namespace ptpkg::convert {

namespace {

/// METADATA, WHEEL and entry_points.txt are written anew by wheel/.
bool IsRewritten(std::string_view name) {
  return name == "METADATA" || name == "WHEEL" || name == "entry_points.txt";
}

std::string StemOf(const Distribution& distribution) {
  return distribution.dist_info.substr(0,
                                       distribution.dist_info.size() - std::string_view(".dist-info").size());
}

class WheelTreeMaker {
 public:
  WheelTreeMaker(Env& env, const StagedTree& prefix, const Distribution& distribution,
                 const WheelTreeOptions& options, const AbsPath& root)
      : env_(env), prefix_(prefix), distribution_(distribution), options_(options), builder_(env, root) {}

  Result<WheelTree> Run() {
    PTPKG_TRY(const std::vector<wheel::EntryPoint> scripts, ScriptsOf(distribution_.entry_points));
    for (const wheel::EntryPoint& script : scripts) generated_.insert("bin/" + script.name);
    for (const TreeEntry& entry : prefix_.entries) PTPKG_CHECK(Place(entry));
    result_.payload = std::move(builder_).Finish();
    return std::move(result_);
  }

 private:
  Result<void> Place(const TreeEntry& entry) {
    const std::string& path = entry.path.str();
    if (Excluded(path)) {
      result_.left_out.push_back(path);
      return Ok();
    }
    if (generated_.contains(path) || path.starts_with("conda-meta/")) return Ok();
    const std::string dist_info = distribution_.site_packages + "/" + distribution_.dist_info + "/";
    if (path.starts_with(dist_info)) return PlaceDistInfo(entry, path.substr(dist_info.size()));
    if (path.starts_with(distribution_.site_packages + "/")) {
      return builder_.Link(prefix_, entry,
                           RelPath::Literal(path.substr(distribution_.site_packages.size() + 1)));
    }
    if (path.starts_with("bin/") && entry.kind == FileKind::kRegular)
      return PlaceScript(entry, path.substr(4));
    return builder_.Link(prefix_, entry,
                         RelPath::Literal(fmt::format("{}.data/data/{}", StemOf(distribution_), path)));
  }

  [[nodiscard]] bool Excluded(const std::string& path) const {
    return std::any_of(options_.exclude.begin(), options_.exclude.end(),
                       [&](const std::string& glob) { return GlobMatch(glob, path); });
  }

  Result<void> PlaceDistInfo(const TreeEntry& entry, const std::string& name) {
    if (IsInstallerFile(name) || IsRewritten(name)) return Ok();
    PTPKG_TRY(std::string text, ReadFile(env_.fs, prefix_.root / entry.path));
    result_.dist_info.emplace(name, std::move(text));
    return Ok();
  }

  Result<void> PlaceScript(const TreeEntry& entry, const std::string& name) {
    const RelPath place = RelPath::Literal(fmt::format("{}.data/scripts/{}", StemOf(distribution_), name));
    PTPKG_TRY(const std::optional<std::string> script, PortableScript(entry));
    if (!script) return builder_.Link(prefix_, entry, place);
    return builder_.AddText(place, *script, 0755);
  }

  /// The text with "#!python" as its first line, if the file is a script of the prefix's own interpreter.
  Result<std::optional<std::string>> PortableScript(const TreeEntry& entry) {
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
  TreeBuilder builder_;
  std::set<std::string> generated_;
  WheelTree result_;
};

}  // namespace

Result<WheelTree> MakeWheelTree(Env& env, const StagedTree& prefix, const Distribution& distribution,
                                const WheelTreeOptions& options, const AbsPath& root) {
  return WheelTreeMaker(env, prefix, distribution, options, root).Run();
}

}  // namespace ptpkg::convert
