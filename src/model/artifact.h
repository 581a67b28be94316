#pragma once
// A finished file and its digests. Layer: model.
// Digests come from the writer, so that no later stage has to hash the file.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/digest/hash.h"

namespace ptpkg {

enum class ArtifactFormat : std::uint8_t { kConda, kTarBz2, kWheel, kZip };

/// .conda and .tar.bz2: what channels have.
constexpr bool IsCondaPackage(ArtifactFormat format) {
  return format == ArtifactFormat::kConda || format == ArtifactFormat::kTarBz2;
}

/// ".conda", ".tar.bz2", ".whl", ".zip".
std::string_view ArtifactExtension(ArtifactFormat format);
/// "conda", "tar.bz2", "wheel", "zip": as recipes, flags and the manifest name it.
std::string_view ArtifactFormatName(ArtifactFormat format);
std::optional<ArtifactFormat> ParseArtifactFormat(std::string_view name);
/// Format of a file name by its end; nullopt for any other file.
std::optional<ArtifactFormat> FormatOfFileName(std::string_view file_name);
/// The same, or kInvalidInput with the known ends.
Result<ArtifactFormat> RequireFormat(const AbsPath& artifact);

struct Artifact {
  ArtifactFormat format = ArtifactFormat::kConda;
  AbsPath path = AbsPath::Literal("/nonexistent");
  Digests digests;                   ///< sha256 and md5.
  std::uint64_t unpacked_bytes = 0;  ///< Size of the files in it, without the metadata of conda packages.
};

}  // namespace ptpkg
