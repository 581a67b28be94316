// Versions of this program: CMake states compiler and libraries when it runs, and a generated header has the
// commit, renewed with every build (src/cli/CMakeLists.txt). This file alone includes that header, so a new
// commit compiles nothing else.

#include "cli/build_info.h"

#include <array>
#include <ptpkg_commit.h>
#include <ptpkg_libraries.h>

namespace ptpkg::cli {

const BuildInfo& ThisBuild() {
  static constexpr std::array kLibraries = {PTPKG_LIBRARIES};
  static constexpr BuildInfo kInfo = {
      .version = PTPKG_VERSION, .commit = PTPKG_COMMIT, .compiler = PTPKG_COMPILER, .libraries = kLibraries};
  return kInfo;
}

}  // namespace ptpkg::cli
