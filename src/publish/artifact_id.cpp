// Parses names such as linux-64/toy-1.0-0.conda, toy-1.0-py3-none-any.whl and cu130/toy-….whl. The part
// before the slash decides what the name can be: a subdir of a channel, or the directory of a backend. Both
// lists are closed, so a mistyped directory is an error and not a package that does not exist.

#include "publish/artifact_id.h"

#include <fmt/core.h>

#include "conda/channel_names.h"
#include "index/simple_index/backend_directories.h"
#include "wheel/file_name.h"
#include "wheel/metadata/core_metadata.h"

namespace ptpkg::publish {
namespace {

Error NoId(std::string_view text, const std::string& why) {
  return Error(ErrorCode::kUsage, fmt::format("'{}' is not an artifact name: {}", text, why))
      .WithHint("write it like linux-64/toy-1.0-0.conda or toy-1.0-py3-none-any.whl");
}

}  // namespace

Result<void> RequireInChannel(const ArtifactId& artifact) {
  if (!artifact.subdir.empty()) return Ok();
  return Error(ErrorCode::kRefused, fmt::format("'{}' is not a conda package, so it cannot be in a channel",
                                                artifact.ChannelPath()));
}

Result<void> RequireNoBackend(const ArtifactId& artifact, const std::string& title) {
  if (artifact.backend.empty()) return Ok();
  return Error(ErrorCode::kRefused, fmt::format("'{}' cannot be at {}: it has no backend directories",
                                                artifact.ChannelPath(), title))
      .WithHint("give only the wheel: " + artifact.file_name);
}

Result<ArtifactId> ParseArtifactId(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (text.ends_with(".whl")) {
    const std::string_view backend = slash == std::string_view::npos ? "" : text.substr(0, slash);
    if (slash != std::string_view::npos && !index::IsBackend(backend))
      return NoId(text,
                  fmt::format("'{}' is not a backend directory such as cpu, cu130 or rocm6.4", backend));
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
  if (!conda::IsSubdir(subdir)) return NoId(text, fmt::format("'{}' is not a subdir", subdir));
  const std::string_view file_name = text.substr(slash + 1);
  const auto name = conda::DistName::Parse(file_name);
  if (!name || file_name.find('/') != std::string_view::npos)
    return NoId(text, fmt::format("'{}' is not the file name of a package", file_name));
  return ArtifactId{.file_name = std::string(file_name),
                    .format = name->format,
                    .package = name->name,
                    .version = name->version,
                    .subdir = std::string(subdir)};
}

}  // namespace ptpkg::publish
