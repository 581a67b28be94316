// The evaluated recipe. Layer: recipe.

#include "recipe/recipe.h"

#include <fmt/core.h>

namespace ptpkg::recipe {

std::string TestFilesFolder(const std::string& name, std::uint64_t position) {
  return fmt::format("etc/conda/test-files/{}/{}", name, position);
}

std::string Recipe::FileStem() const {
  const std::string stem = fmt::format("{}-{}", name, version);
  return build_string.empty() ? stem : fmt::format("{}-{}", stem, build_string);
}

}  // namespace ptpkg::recipe
