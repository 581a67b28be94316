#pragma once
// Versions of this program, its compiler and its libraries. Layer: cli.

#include <span>
#include <string>
#include <string_view>

#include "support/text/json.h"

namespace ptpkg::cli {

struct LibraryVersion {
  std::string_view name;
  std::string_view version;  ///< From the headers; a shared library can be a later one of the same SONAME.
};

struct BuildInfo {
  std::string_view version;
  std::string_view
      commit;  ///< 12 hex digits, with "+changes" for a tree that was edited; "unknown" without git.
  std::string_view compiler;                  ///< "GNU 12.2.0"
  std::span<const LibraryVersion> libraries;  ///< By name.
};

const BuildInfo& ThisBuild();

/// "ptpkg 0.1.0 (commit …)", and a line for the compiler and the libraries.
std::string VersionText(const BuildInfo& info);
Json VersionToJson(const BuildInfo& info);

}  // namespace ptpkg::cli
