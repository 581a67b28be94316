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
