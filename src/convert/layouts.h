#pragma once
// The built-in search-path layouts of data/layouts.yaml. Layer: convert.

#include <string>
#include <string_view>
#include <vector>

#include "elf/edit/relink_tree.h"

namespace ptpkg::convert {

/// Names that BuiltInLayout knows, sorted.
std::vector<std::string> BuiltInLayoutNames();

/// The rules of the built-in layout `name`. Errors: kNotFound, with the nearest name or all names as hint.
Result<std::vector<elf::PathRule>> BuiltInLayout(std::string_view name);

}  // namespace ptpkg::convert
