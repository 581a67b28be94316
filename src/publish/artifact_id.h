#pragma once
// An artifact by its name at a target, whether its file is here or not. Layer: publish.

#include <string>
#include <string_view>

#include "model/artifact.h"
#include "support/result.h"

namespace ptpkg::publish {

struct ArtifactId {
  std::string file_name = {};
  ArtifactFormat format = ArtifactFormat::kConda;
  std::string package = {};  ///< Of a wheel its project in PEP 503's normal form.
  std::string version = {};
  std::string subdir = {};  ///< "" of a wheel.

  /// "linux-64/toy-1.0-0.conda"; a wheel's is its name.
  [[nodiscard]] std::string ChannelPath() const {
    return subdir.empty() ? file_name : subdir + "/" + file_name;
  }
};

/// .conda and .tar.bz2: what channels have.
constexpr bool IsCondaPackage(ArtifactFormat format) {
  return format == ArtifactFormat::kConda || format == ArtifactFormat::kTarBz2;
}

/// Errors: kRefused, for what no channel can have.
Result<void> RequireInChannel(const ArtifactId& artifact);

/// "linux-64/toy-1.0-0.conda" or "toy-1.0-py3-none-any.whl". Errors: kUsage naming what is missing.
Result<ArtifactId> ParseArtifactId(std::string_view text);

}  // namespace ptpkg::publish
