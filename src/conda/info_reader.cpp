// The info part of a package. Layer: conda.
//
// Documents are kept as text and parsed at the end, since members come in any order. Everything is held in
// memory, so sizes are bounded: 4 MiB for each small document (limits::kCondaIndex), and 256 MiB for all of
// info/ (limits::kCondaInfo).

#include "conda/info_reader.h"

#include <algorithm>
#include <fmt/core.h>

#include "conda/info/info_schema.h"
#include "conda/info/package_info.h"
#include "support/limits.h"
#include "support/text/json.h"

namespace ptpkg::conda {
namespace {

constexpr std::string_view kInfo = "info/";

/// Size limit of one text below info/; all of them together may hold limits::kCondaInfo.
std::uint64_t TextLimit(std::string_view name) {
  for (const std::string_view small : {"index.json", "about.json", "run_exports.json", "link.json"}) {
    if (name == small) return limits::kCondaIndex;
  }
  return limits::kCondaInfo;
}

/// Files that conda and rattler open by name.
bool IsDocument(std::string_view name) {
  for (const std::string_view document :
       {"index.json", "about.json", "paths.json", "link.json", "run_exports.json", "package_metadata.json",
        "files", "has_prefix", "no_link", "no_softlink"}) {
    if (name == document) return true;
  }
  return false;
}

Result<Json> ParseOr(const std::map<std::string, std::string>& files, const std::string& name, Json fallback,
                     const std::string& where) {
  const auto found = files.find(name);
  if (found == files.end()) return fallback;
  return ParseJson(found->second, fmt::format("{}: info/{}", where, name));
}

}  // namespace

bool InfoCollector::IsInfo(const archive::TarMember& member) { return member.name.starts_with(kInfo); }

Result<void> InfoCollector::Add(const archive::TarMember& member, ByteSource& content) {
  const std::string_view name = std::string_view(member.name).substr(kInfo.size());
  // Clients open these files by name after unpacking. They would follow the link to a text that ptpkg has not
  // seen.
  if (member.kind == archive::TarKind::kSymlink && IsDocument(name)) {
    return Error(ErrorCode::kCorrupt, fmt::format("member '{}' is a symlink, not a file", member.name));
  }
  std::string text;
  if (member.kind == archive::TarKind::kRegular) {
    PTPKG_TRY(text, ReadText(content, std::min(TextLimit(name), limits::kCondaInfo - bytes_)),
              fmt::format("while reading '{}'", member.name));
  } else if (member.kind == archive::TarKind::kHardLink) {
    const std::string_view target = member.link_target;
    const auto found =
        target.starts_with(kInfo) ? files_.find(std::string(target.substr(kInfo.size()))) : files_.end();
    // The text counts again: a million links to one large text would fill the memory.
    if (found == files_.end() || found->second.size() > limits::kCondaInfo - bytes_) {
      return Error(
          ErrorCode::kCorrupt,
          fmt::format("member '{}' is a hard link to something outside info/, or too large", member.name));
    }
    text = found->second;
  } else {
    return Ok();
  }
  bytes_ += text.size();
  auto path = RelPath::Parse(name);
  if (!path)
    return Error(ErrorCode::kCorrupt, fmt::format("invalid member name: {}", path.error().message()));
  if (!files_.emplace(path->str(), std::move(text)).second) {
    return Error(ErrorCode::kCorrupt, fmt::format("member '{}' occurs twice", member.name));
  }
  return Ok();
}

Result<PackageInfo> InfoCollector::Finish(ArtifactFormat format, const std::string& where) && {
  if (!Has("index.json")) {
    return Error(ErrorCode::kInvalidInput, fmt::format("{}: has no 'info/index.json'", where))
        .WithHint("member names must be exact: conda's indexers don't find './info/index.json' either");
  }
  PackageInfo info;
  info.format = format;
  PTPKG_TRY(info.index, ParseOr(files_, "index.json", nullptr, where));
  // Callers read name, version and build without further tests, so a wrong type must end here.
  PTPKG_CHECK(CheckIndexSchema(info.index, where + ": info/index.json"));
  PTPKG_TRY(info.about, ParseOr(files_, "about.json", Json::object(), where));
  PTPKG_TRY(info.paths, ParseOr(files_, "paths.json", Json::object(), where));
  PTPKG_TRY(info.run_exports, ParseOr(files_, "run_exports.json", nullptr, where));
  // CEP 34 also allows a plain list, which means "weak".
  if (info.run_exports.is_array()) info.run_exports = Json{{"weak", std::move(info.run_exports)}};
  if (files_.contains("run_exports.json")) {
    PTPKG_CHECK(CheckRunExportsSchema(info.run_exports, where + ": info/run_exports.json"));
  }
  info.info_files = std::move(files_);
  return info;
}

Result<PackageInfo> ReadPackageInfo(Env& env, const AbsPath& package) {
  InfoCollector collector;
  const auto on_member = [&](Part part, const archive::TarMember& member,
                             ByteSource& content) -> Result<bool> {
    if (!InfoCollector::IsInfo(member)) {
      // Every builder puts info/ first; only archives packed by hand make us read on.
      return part != Part::kWhole || !collector.Has("index.json") || !collector.Has("paths.json");
    }
    PTPKG_CHECK(collector.Add(member, content));
    return true;
  };
  ContainerOptions options;
  options.info_only = true;
  PTPKG_TRY(const ContainerFacts facts, ReadContainer(env, package, on_member, options));
  return std::move(collector).Finish(facts.format, std::string(package.Name()));
}

}  // namespace ptpkg::conda
