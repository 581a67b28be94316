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
  /// Names of packages that it runs with: they should come earlier, but need not.
  std::vector<std::string> wants = {};
};

/// The indexes of `items`, reordered so that each item follows all items with a name that it needs. It also
/// follows the items that it wants, unless these need or want it. Otherwise the given order is kept. Several
/// items (variants) can share a name. An item that needs its own name means an existing package. Errors:
/// kInvalidInput naming the cycle.
Result<std::vector<std::size_t>> OrderByRequirements(std::span<const Buildable> items);

}  // namespace ptpkg::pipeline
