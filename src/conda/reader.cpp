// The info part of a package. Layer: conda.
#include "conda/reader.h"

#include <algorithm>
#include <fmt/core.h>

#include "conda/index_json.h"
#include "conda/package_info.h"
#include "support/json.h"
#include "support/limits.h"

namespace ptpkg::conda {
namespace {

constexpr std::string_view kInfo = "info/";

/// What one text below info/ may hold; all of them together may hold limits::kCondaInfo.
std::uint64_t TextLimit(std::string_view name) {
  for (const std::string_view small : {"index.json", "about.json", "run_exports.json", "link.json"}) {
    if (name == small) return limits::kCondaIndex;
  }
  return limits::kCondaInfo;
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
  if (member.kind != archive::TarKind::kRegular) return Ok();
  const std::uint64_t limit = TextLimit(std::string_view(member.name).substr(kInfo.size()));
  PTPKG_TRY(std::string text, ReadText(content, std::min(limit, limits::kCondaInfo - bytes_)),
            fmt::format("while reading '{}'", member.name));
  bytes_ += text.size();
  auto path = RelPath::Parse(std::string_view(member.name).substr(kInfo.size()));
  if (!path)
    return Error(ErrorCode::kCorrupt, fmt::format("member name is refused: {}", path.error().message()));
  if (!files_.emplace(path->str(), std::move(text)).second) {
    return Error(ErrorCode::kCorrupt, fmt::format("member '{}' occurs twice", member.name));
  }
  return Ok();
}

Result<PackageInfo> InfoCollector::Finish(ArtifactFormat format, const std::string& where) && {
  if (!Has("index.json")) {
    return Error(ErrorCode::kInvalidInput, fmt::format("{}: holds no 'info/index.json'", where))
        .WithHint("member names must be exact: './info/index.json' is not found by conda's indexers either");
  }
  PackageInfo info;
  info.format = format;
  PTPKG_TRY(info.index, ParseOr(files_, "index.json", nullptr, where));
  PTPKG_CHECK(CheckIndexSchema(info.index, where + ": info/index.json"));
  PTPKG_TRY(info.about, ParseOr(files_, "about.json", Json::object(), where));
  PTPKG_TRY(info.paths, ParseOr(files_, "paths.json", Json::object(), where));
  PTPKG_TRY(info.run_exports, ParseOr(files_, "run_exports.json", nullptr, where));
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
