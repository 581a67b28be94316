#pragma once
// Sorts recipes by their requirements. Layer: pipeline.

#include <span>
#include <string>
#include <vector>

#include "support/result.h"

namespace ptpkg::pipeline {

/// Something to build, and the names of the packages that it is built against.
struct Buildable {
  std::string name;
  std::vector<std::string> needs;
  /// Names that should come earlier, but need not: what it runs with.
  std::vector<std::string> wants = {};
};

/// The indexes of `items`, reordered so that each comes after all whose name it needs, and after those that
/// it wants, unless these need or want it themselves; otherwise in the given order. Several items (variants)
/// may share a name; who needs its own name means a package that is there already. Errors: kInvalidInput
/// naming the cycle.
Result<std::vector<std::size_t>> OrderByRequirements(std::span<const Buildable> items);

}  // namespace ptpkg::pipeline
