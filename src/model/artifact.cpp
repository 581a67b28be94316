// Artifact formats. Layer: model.

#include "model/artifact.h"

namespace ptpkg {

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
  return format == ArtifactFormat::kWheel ? "wheel" : ArtifactExtension(format).substr(1);
}

std::optional<ArtifactFormat> ParseArtifactFormat(std::string_view name) {
  for (const ArtifactFormat format :
       {ArtifactFormat::kConda, ArtifactFormat::kTarBz2, ArtifactFormat::kWheel, ArtifactFormat::kZip}) {
    if (ArtifactFormatName(format) == name) return format;
  }
  return std::nullopt;
}

}  // namespace ptpkg
