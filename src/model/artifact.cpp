// Artifact formats. Layer: model.

#include "model/artifact.h"

#include <array>
#include <fmt/core.h>

namespace ptpkg {
namespace {

constexpr std::array<ArtifactFormat, 4> kFormats = {ArtifactFormat::kConda, ArtifactFormat::kTarBz2,
                                                    ArtifactFormat::kWheel, ArtifactFormat::kZip};

}  // namespace

std::string_view ArtifactExtension(ArtifactFormat format) {
  switch (format) {
    case ArtifactFormat::kConda:
      return ".conda";
    case ArtifactFormat::kTarBz2:
      return ".tar.bz2";
    case ArtifactFormat::kWheel:
      return ".whl";
    case ArtifactFormat::kZip:
      return ".zip";
  }
  detail::AssertFailed("known ArtifactFormat", __FILE__, __LINE__);
}

std::string_view ArtifactFormatName(ArtifactFormat format) {
  // People say "wheel", never "whl".
  return format == ArtifactFormat::kWheel ? "wheel" : ArtifactExtension(format).substr(1);
}

std::optional<ArtifactFormat> ParseArtifactFormat(std::string_view name) {
  for (const ArtifactFormat format : kFormats) {
    if (ArtifactFormatName(format) == name) return format;
  }
  return std::nullopt;
}

std::optional<ArtifactFormat> FormatOfFileName(std::string_view file_name) {
  for (const ArtifactFormat format : kFormats) {
    // The end of the whole name, since ".tar.bz2" is more than the last extension.
    if (file_name.ends_with(ArtifactExtension(format))) return format;
  }
  return std::nullopt;
}

Result<ArtifactFormat> RequireFormat(const AbsPath& artifact) {
  if (const auto format = FormatOfFileName(artifact.Name())) return *format;
  return Error(ErrorCode::kInvalidInput,
               fmt::format("'{}' is not a conda package, wheel or zip", artifact.str()))
      .WithHint("give a file that ends in .conda, .tar.bz2, .whl or .zip");
}

}  // namespace ptpkg
