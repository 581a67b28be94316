// Installs the payload of a package into a prefix. Layer: conda.
//
// Members are written in the order of the archive. The list in paths.json is compared afterwards, because a
// .tar.bz2 can hold info/ anywhere. The order of the last three steps matters:
// 1. Compare with paths.json. Its digests are about the packed files, so this comes before the next step.
// 2. Replace the prefixes.
// 3. Write the scripts of entry points, which no list names: the installer makes them, not the builder.
//
// TreeWriter removes all files unless Run reaches Keep. An error of any step leaves no half package behind.

#include <fmt/core.h>

#include "conda/info/info_schema.h"
#include "conda/info/noarch.h"
#include "conda/info/package_info.h"
#include "conda/info/paths_json.h"
#include "conda/info/prefix.h"
#include "conda/info_reader.h"
#include "conda/package.h"
#include "conda/tree_writer.h"
#include "support/text/json.h"

namespace ptpkg::conda {
namespace {

/// "" unless the package is noarch python and an interpreter is given to place its files.
std::string NoarchPython(const Json& index, const std::string& python_version) {
  const auto noarch = index.find("noarch");
  const bool python = noarch != index.end() && noarch->is_string() && noarch->get<std::string>() == "python";
  return python ? python_version : "";
}

class Unpacker {
 public:
  Unpacker(Env& env, const AbsPath& prefix_dir, const UnpackOptions& options)
      : env_(env), prefix_dir_(prefix_dir), options_(options), tree_(env, prefix_dir) {}

  Result<PackageInfo> Run(const AbsPath& package, const std::string& python_version) {
    python_version_ = python_version;
    const auto on_member = [&](Part part, const archive::TarMember& member, ByteSource& content) {
      return OnOneMember(part, member, content);
    };
    PTPKG_TRY(const ContainerFacts facts, ReadContainer(env_, package, on_member));
    PTPKG_TRY(PackageInfo info, std::move(collector_).Finish(facts.format, std::string(package.Name())));
    if (!collector_has_paths_) {
      return Error(ErrorCode::kCorrupt, fmt::format("'{}' has no 'info/paths.json'", package.Name()));
    }
    PTPKG_TRY(const auto paths,
              ParsePathsJson(info.paths, fmt::format("{}: info/paths.json", package.Name())));
    PTPKG_CHECK(Compare(paths));
    PTPKG_CHECK(ReplacePrefixes(paths));
    PTPKG_CHECK(WriteEntryPoints(info));
    tree_.Keep();
    return info;
  }

 private:
  Result<bool> OnOneMember(Part part, const archive::TarMember& member, ByteSource& content) {
    std::string_view name = member.name;
    // RelPath refuses the '/' that tar puts behind the name of a directory.
    if (member.kind == archive::TarKind::kDirectory && name.ends_with('/')) name.remove_suffix(1);
    const Result<RelPath> path = RelPath::Parse(name);
    if (!path) {
      return Error(ErrorCode::kCorrupt, fmt::format("invalid member name: {}", path.error().message()));
    }
    // Clients can fetch the info part of a .conda alone (CEP 35). They don't see a member of info/ in the
    // other part, so readers would disagree about the package.
    if (path->IsWithin(RelPath::Literal("info"))) {
      if (part == Part::kPayload) return Hostile(*path, "is below info/ in the payload part");
      if (InfoCollector::IsInfo(member)) PTPKG_CHECK(collector_.Add(member, content));
      collector_has_paths_ = collector_.Has("paths.json");
      return true;
    }
    if (part == Part::kInfo) return Hostile(*path, "is outside info/ in the info part");
    PTPKG_CHECK(WritePayload(*path, member, content), fmt::format("while unpacking '{}'", path->str()));
    return true;
  }

  Result<void> WritePayload(const RelPath& path, const archive::TarMember& member, ByteSource& content) {
    const RelPath place = PlaceOf(path);
    archive::TarMember placed = member;
    if (member.kind == archive::TarKind::kHardLink) {
      // The link names its target by the packed path, while TreeWriter knows files by their installed path.
      const Result<RelPath> target = RelPath::Parse(member.link_target);
      if (target) placed.link_target = PlaceOf(*target).str();
    }
    return tree_.Write(place, placed, content);
  }

  RelPath PlaceOf(const RelPath& path) const {
    return python_version_.empty() ? path : FromNoarch(path, python_version_);
  }

  static Error Hostile(const RelPath& path, std::string_view why) {
    return {ErrorCode::kCorrupt, fmt::format("member '{}' {}", path.str(), why)};
  }

  /// paths.json names every file of the payload and nothing else.
  Result<void> Compare(const std::vector<PathsEntry>& paths) {
    std::size_t files = 0;
    for (const PathsEntry& entry : paths) {
      // CEP 34 allows entries for directories. Here they exist only through their files.
      if (entry.type == PathType::kDirectory) continue;
      ++files;
      const auto written = tree_.files().find(PlaceOf(RelPath::Literal(entry.path)).str());
      if (written == tree_.files().end()) {
        return Error(ErrorCode::kCorrupt, fmt::format("'{}' of paths.json is missing", entry.path));
      }
      PTPKG_CHECK(CompareOne(entry, written->second));
    }
    // paths.json has no path twice (ParsePathsJson), and each was found. So equal counts mean equal sets.
    if (files == tree_.files().size()) return Ok();
    std::set<std::string> listed;
    for (const PathsEntry& entry : paths) listed.insert(PlaceOf(RelPath::Literal(entry.path)).str());
    for (const auto& [path, file] : tree_.files()) {
      if (listed.count(path) == 0) {
        return Error(ErrorCode::kCorrupt, fmt::format("'{}' is not listed in paths.json", path));
      }
    }
    return Ok();
  }

  static Result<void> CompareOne(const PathsEntry& entry, const WrittenFile& written) {
    if (written.symlink != (entry.type == PathType::kSoftLink)) {
      return Error(ErrorCode::kCorrupt,
                   fmt::format("'{}' has a different type than in paths.json", entry.path));
    }
    // The digest of a link is that of its target, which other packages may own: conda does not check it
    // either.
    if (written.symlink || !entry.has_digest) return Ok();
    if (written.size_bytes != entry.size_bytes) {
      return Error(ErrorCode::kCorrupt, fmt::format("'{}' has {} bytes, paths.json says {}", entry.path,
                                                    written.size_bytes, entry.size_bytes));
    }
    if (written.sha256 != entry.sha256) {
      return Error(ErrorCode::kCorrupt,
                   fmt::format("the sha256 of '{}' differs from paths.json", entry.path));
    }
    return Ok();
  }

  Result<void> ReplacePrefixes(const std::vector<PathsEntry>& paths) {
    if (options_.prefix.empty()) return Ok();
    for (const PathsEntry& entry : paths) {
      if (entry.type != PathType::kHardLink || entry.placeholder.empty()) continue;
      PTPKG_CHECK(ReplacePrefix(env_.fs, prefix_dir_ / PlaceOf(RelPath::Literal(entry.path)), entry,
                                options_.prefix));
    }
    return Ok();
  }

  Result<void> WriteEntryPoints(const PackageInfo& info) {
    const auto text = info.info_files.find("link.json");
    if (python_version_.empty() || text == info.info_files.end()) return Ok();
    PTPKG_TRY(const Json json, ParseJson(text->second, "info/link.json"));
    PTPKG_TRY(const LinkDocument link, ParseLinkJson(json, "info/link.json"));
    const std::string prefix = options_.prefix.empty() ? prefix_dir_.str() : options_.prefix;
    for (const std::string& entry_point : link.entry_points) {
      PTPKG_TRY(const EntryPointScript script, MakeEntryPoint(entry_point, prefix));
      PTPKG_CHECK(tree_.WriteText(RelPath::Literal("bin") / script.name, script.text, true));
    }
    return Ok();
  }

  Env& env_;
  const AbsPath& prefix_dir_;
  const UnpackOptions& options_;
  std::string python_version_;
  InfoCollector collector_;
  bool collector_has_paths_ = false;
  TreeWriter tree_;
};

}  // namespace

Result<PackageInfo> UnpackPackage(Env& env, const AbsPath& package, const AbsPath& prefix_dir,
                                  const UnpackOptions& options) {
  const std::string frame = fmt::format("while unpacking '{}'", package.str());
  std::string python_version;
  if (!options.python_version.empty()) {
    // The place of a file depends on index.json, which must be known before the first member is written.
    PTPKG_TRY(const PackageInfo info, ReadPackageInfo(env, package), frame);
    python_version = NoarchPython(info.index, options.python_version);
  }
  PTPKG_TRY(PackageInfo info, Unpacker(env, prefix_dir, options).Run(package, python_version), frame);
  return info;
}

}  // namespace ptpkg::conda
