#include "publish/artifact_id.h"

#include <fmt/core.h>

#include "conda/channel_names.h"
#include "index/simple_index/backend_directories.h"
#include "wheel/file_name.h"
#include "wheel/metadata/core_metadata.h"

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

Result<void> RequireNoBackend(const ArtifactId& artifact, const std::string& title) {
  if (artifact.backend.empty()) return Ok();
  return Error(ErrorCode::kRefused, fmt::format("'{}' cannot be at {}: it has no folders of backends",
                                                artifact.ChannelPath(), title))
      .WithHint("name the wheel alone: " + artifact.file_name);
}

Result<ArtifactId> ParseArtifactId(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (text.ends_with(".whl")) {
    const std::string_view backend = slash == std::string_view::npos ? "" : text.substr(0, slash);
    if (slash != std::string_view::npos && !index::IsBackend(backend))
      return NoId(text, fmt::format("'{}' is no folder of a backend, as cpu, cu130 or rocm6.4", backend));
    const std::string_view file_name = text.substr(slash == std::string_view::npos ? 0 : slash + 1);
    const auto name = wheel::FileName::Parse(file_name);
    if (!name) return NoId(text, name.error().message());
    return ArtifactId{.file_name = std::string(file_name),
                      .format = ArtifactFormat::kWheel,
                      .package = wheel::NormalizeName(name->name),
                      .version = name->version,
                      .backend = std::string(backend)};
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
