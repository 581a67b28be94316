#pragma once
// A recipe's search-path layouts as rules of the ELF engine. Layer: convert.

#include <optional>
#include <string>
#include <vector>

#include "elf/relink.h"
#include "recipe/recipe.h"

namespace ptpkg::convert {

/// Rules of the layout `name` ("conda", "wheel") of `recipe`; nullopt if it has none of that name.
std::optional<std::vector<elf::PathRule>> LayoutRules(const recipe::Recipe& recipe, const std::string& name);

}  // namespace ptpkg::convert
