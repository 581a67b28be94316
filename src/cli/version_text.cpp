// Renders BuildInfo. Layer: cli.

#include <fmt/format.h>

#include "cli/build_info.h"
#include "support/text/text.h"

namespace ptpkg::cli {

std::string VersionText(const BuildInfo& info) {
  // Other versions of the compression libraries can give other bytes, so a report needs all of them.
  std::vector<std::string> libraries;
  for (const LibraryVersion& library : info.libraries) {
    libraries.push_back(fmt::format("{} {}", library.name, library.version));
  }
  return fmt::format("ptpkg {} (commit {})\nbuilt by {} with {}", info.version, info.commit, info.compiler,
                     Join(libraries, ", "));
}

Json VersionToJson(const BuildInfo& info) {
  Json libraries = Json::object();
  for (const LibraryVersion& library : info.libraries) libraries[std::string(library.name)] = library.version;
  return {{"version", info.version},
          {"commit", info.commit},
          {"compiler", info.compiler},
          {"libraries", libraries}};
}

}  // namespace ptpkg::cli
