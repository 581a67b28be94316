#pragma once
// Name of an artifact at a target. Layer: publish.

#include <string>
#include <string_view>

#include "model/artifact.h"
#include "support/result.h"

namespace ptpkg::publish {

struct ArtifactId {
  std::string file_name = {};
  ArtifactFormat format = ArtifactFormat::kConda;
  std::string package = {};  ///< For a wheel, its project in PEP 503's normal form.
  std::string version = {};
  std::string subdir = {};  ///< "" of a wheel.
  /// Backend directory that holds a wheel (index/simple_index/backend_directories.h).
  std::string backend = {};

  /// "linux-64/toy-1.0-0.conda"; a wheel's is its name, or "cu130/toy-1.0-py3-none-any.whl".
  [[nodiscard]] std::string ChannelPath() const {
    const std::string& folder = subdir.empty() ? backend : subdir;
    return folder.empty() ? file_name : folder + "/" + file_name;
  }
};

/// Errors: kRefused, for artifacts that no channel can have.
Result<void> RequireInChannel(const ArtifactId& artifact);

/// Errors: kRefused with a hint, for a wheel in a backend directory. `title`: the target, which has no such
/// directories.
Result<void> RequireNoBackend(const ArtifactId& artifact, const std::string& title);

/// "linux-64/toy-1.0-0.conda", "toy-1.0-py3-none-any.whl" or "cu130/toy-1.0-py3-none-any.whl". Errors: kUsage
/// naming what is missing.
Result<ArtifactId> ParseArtifactId(std::string_view text);

}  // namespace ptpkg::publish
