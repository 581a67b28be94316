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
  /// Indexes of the selected recipes. A recipe that does not depend on the keys is in several groups.
  std::vector<std::size_t> recipes = {};
};

inline constexpr std::size_t kMostVariantGroups = 1000;

/// Groups all variants in `recipes`, which come from one recipe file, in their order. Skipped variants are in
/// no group. If outputs pin each other exactly, `--select` cannot separate them, and they form one group.
/// `has_outputs`: for that file. Errors: kUnsupported for more than kMostVariantGroups, and for a variant
/// that no selection reaches.
Result<std::vector<VariantGroup>> GroupVariants(const std::vector<recipe::Recipe>& recipes, bool has_outputs);

}  // namespace ptpkg::pipeline
