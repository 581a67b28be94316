#pragma once
// Results of ReadPackageInfo and UnpackPackage. Layer: conda.

#include <map>
#include <string>

#include "conda/package.h"
#include "support/text/json.h"

namespace ptpkg::conda {

/// The info part of a package, read without unpacking the payload.
// NOLINTNEXTLINE(bugprone-exception-escape): the destructor of Json only looks as if it could throw
struct PackageInfo {
  ArtifactFormat format = ArtifactFormat::kConda;
  Json index;
  Json about;
  Json paths;
  Json run_exports;                               ///< Null when absent.
  std::map<std::string, std::string> info_files;  ///< All files below info/, by their name below it.
};

}  // namespace ptpkg::conda
