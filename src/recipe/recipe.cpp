// The evaluated recipe. Layer: recipe.

#include "recipe/recipe.h"

#include <fmt/format.h>

namespace ptpkg::recipe {

std::string MatchSpec::str() const {
  std::string text = name;
  if (!version.empty()) {
    text += " " + version;
  } else if (!build.empty()) {
    text += " *";
  }
  if (!build.empty()) text += " " + build;
  return text;
}

std::string Recipe::FileStem() const { return fmt::format("{}-{}-{}", name, version, build_string); }

}  // namespace ptpkg::recipe
