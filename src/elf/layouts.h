#pragma once
// Built-in search-path layouts, as data. Layer: elf.
// Source: PyTorch's own packaging scripts (pytorch/builder conda/pytorch-nightly/build.sh and
// manywheel/build_cuda.sh, pytorch/pytorch .ci/manywheel/repair_wheel.py).

#include <string>
#include <string_view>
#include <vector>

#include "elf/relink.h"

namespace ptpkg::elf {

/// Names that BuiltInLayout knows, sorted.
std::vector<std::string> BuiltInLayoutNames();

/// The rules of the built-in layout `name`. Errors: kNotFound, with the nearest name or all names as hint.
Result<std::vector<PathRule>> BuiltInLayout(std::string_view name);

}  // namespace ptpkg::elf
