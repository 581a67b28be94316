// The evaluated recipe. Layer: recipe.

#include "recipe/recipe.h"

#include <fmt/core.h>

namespace ptpkg::recipe {

std::string Recipe::FileStem() const { return fmt::format("{}-{}-{}", name, version, build_string); }

}  // namespace ptpkg::recipe
