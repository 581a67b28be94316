#pragma once
// Groups variants into independent CI jobs. Layer: pipeline.

#include <map>
#include <string>
#include <vector>

#include "recipe/recipe.h"

namespace ptpkg::pipeline {

struct VariantGroup {
  /// The keys for `--select` that single this group out, as few as possible; empty: there is no other.
  std::map<std::string, std::string> select = {};
  /// Indexes of what that selects. What does not depend on the keys is in several groups.
  std::vector<std::size_t> recipes = {};
};

inline constexpr std::size_t kMostVariantGroups = 1000;

/// Groups of all variants in `recipes`, which are one recipe file's, in their order; those that are skipped
/// are in none. Where outputs pin each other exactly, so that no `--select` parts them, all are one group.
/// `has_outputs`: of that file. Errors: kUnsupported (more than kMostVariantGroups; a variant that no
/// selection reaches).
Result<std::vector<VariantGroup>> GroupVariants(const std::vector<recipe::Recipe>& recipes, bool has_outputs);

}  // namespace ptpkg::pipeline
