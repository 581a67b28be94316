#pragma once
// Requirements, as recipes name them.

#include <string>
#include <utility>

#include "recipe/recipe.h"

namespace ptpkg::test {

inline recipe::MatchSpec Spec(std::string name, std::string version = "", std::string build = "") {
  return {.name = std::move(name), .version = std::move(version), .build = std::move(build)};
}

}  // namespace ptpkg::test
