#pragma once
// What an artifact says of itself, in the same words for all formats. Layer: inspect.

#include <string>
#include <vector>

#include "conda/package_info.h"
#include "support/json_fwd.h"
#include "wheel/wheel.h"

namespace ptpkg::inspect {

/// Text that is not there is "".
struct ArtifactMetadata {
  std::string name = {};
  std::string version = {};
  std::string build = {};   ///< Build tag of a wheel, build string of a conda package.
  std::string subdir = {};  ///< Of a conda package.
  std::vector<std::string> tags = {};
  std::string requires_python = {};
  std::vector<std::string> requires_list = {};  ///< Requires-Dist, or depends.
  std::vector<std::string> constrains = {};
  std::vector<std::string> extras = {};
  std::string license = {};
  std::vector<std::string> license_files = {};
  std::string summary = {};
  std::vector<std::string> entry_points = {};  ///< "console_scripts: toy = toy.cli:main"
  std::string generator = {};                  ///< What wrote the artifact.
};

/// `wheel_text`: its WHEEL file.
ArtifactMetadata MetadataOfWheel(const wheel::WheelInfo& info, const std::string& wheel_text);
/// Fields of other types than CEP 34 says are left out.
ArtifactMetadata MetadataOfConda(const conda::PackageInfo& info);

/// As docs/json/inspect.json has it; "" is null.
Json MetadataToJson(const ArtifactMetadata& metadata);

}  // namespace ptpkg::inspect
