#pragma once
// Converts recipe layouts into rules of the ELF editor. Layer: convert.

#include <vector>

#include "elf/edit/relink_tree.h"
#include "recipe/recipe.h"

namespace ptpkg::convert {

std::vector<elf::PathRule> LayoutRules(const recipe::Layout& layout);

}  // namespace ptpkg::convert
