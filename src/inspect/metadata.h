#pragma once
// Format-independent metadata of an artifact. Layer: inspect.

#include <optional>
#include <string>
#include <vector>

#include "conda/info/package_info.h"
#include "support/text/json_fwd.h"
#include "wheel/file_name.h"
#include "wheel/metadata/core_metadata.h"
#include "wheel/wheel_file.h"

namespace ptpkg::inspect {

/// Text that is not there is "".
struct ArtifactMetadata {
  std::string name = {};
  std::string version = {};
  std::string build = {};   ///< Build tag of a wheel, build string of a conda package.
  std::string subdir = {};  ///< For a conda package.
  std::vector<std::string> tags = {};
  std::string requires_python = {};
  std::vector<std::string> requires_list = {};  ///< Requires-Dist, or depends.
  std::vector<std::string> constrains = {};
  std::vector<std::string> extras = {};
  std::string license = {};
  std::vector<std::string> license_files = {};
  std::string summary = {};
  std::vector<std::string> entry_points = {};  ///< "console_scripts: toy = toy.cli:main"
  std::string generator = {};                  ///< Program that wrote the artifact.
};

/// The readable parts of a wheel, each read by itself.
struct WheelDocuments {
  std::optional<wheel::FileName> file_name = {};
  std::optional<wheel::CoreMetadata> metadata = {};
  std::optional<wheel::WheelFile> wheel_file = {};
  std::string entry_points = {};  ///< Text of entry_points.txt.
};

/// Takes name and version from METADATA, or from the file name if there is no METADATA.
ArtifactMetadata MetadataOfWheel(const WheelDocuments& documents);
/// Omits fields whose type differs from CEP 34.
ArtifactMetadata MetadataOfConda(const conda::PackageInfo& info);

/// In the format of docs/json/inspect.json; "" is null.
Json MetadataToJson(const ArtifactMetadata& metadata);

}  // namespace ptpkg::inspect
