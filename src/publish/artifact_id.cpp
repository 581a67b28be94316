#include "publish/artifact_id.h"

#include <fmt/core.h>

#include "conda/names.h"
#include "wheel/core_metadata.h"
#include "wheel/file_name.h"

namespace ptpkg::publish {
namespace {

Error NoId(std::string_view text, const std::string& why) {
  return Error(ErrorCode::kUsage, fmt::format("'{}' names no artifact: {}", text, why))
      .WithHint("name it as its channel or index does: linux-64/toy-1.0-0.conda, toy-1.0-py3-none-any.whl");
}

}  // namespace

Result<void> RequireInChannel(const ArtifactId& artifact) {
  if (!artifact.subdir.empty()) return Ok();
  return Error(ErrorCode::kRefused,
               fmt::format("'{}' is no conda package: a channel has no such file", artifact.ChannelPath()));
}

Result<ArtifactId> ParseArtifactId(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (text.ends_with(".whl")) {
    if (slash != std::string_view::npos) return NoId(text, "a wheel has no folder");
    const auto name = wheel::FileName::Parse(text);
    if (!name) return NoId(text, name.error().message());
    return ArtifactId{.file_name = std::string(text),
                      .format = ArtifactFormat::kWheel,
                      .package = wheel::NormalizeName(name->name),
                      .version = name->version};
  }
  if (slash == std::string_view::npos) return NoId(text, "a package's subdir is missing");
  const std::string_view subdir = text.substr(0, slash);
  if (!conda::IsSubdir(subdir)) return NoId(text, fmt::format("'{}' is no subdir", subdir));
  const std::string_view file_name = text.substr(slash + 1);
  const auto name = conda::DistName::Parse(file_name);
  if (!name || file_name.find('/') != std::string_view::npos)
    return NoId(text, fmt::format("'{}' is no file name of a package", file_name));
  return ArtifactId{.file_name = std::string(file_name),
                    .format = name->format,
                    .package = name->name,
                    .version = name->version,
                    .subdir = std::string(subdir)};
}

}  // namespace ptpkg::publish
