#include "convert/layout_rules.h"

namespace ptpkg::convert {

std::optional<std::vector<elf::PathRule>> LayoutRules(const recipe::Recipe& recipe, const std::string& name) {
  const auto layout = recipe.ptpkg.layouts.find(name);
  if (layout == recipe.ptpkg.layouts.end()) return std::nullopt;
  std::vector<elf::PathRule> rules;
  for (const recipe::LayoutRule& rule : layout->second) {
    rules.push_back(
        {.files = rule.files,
         .search_path = rule.rpath,
         .tag = rule.tag == recipe::RpathTag::kRpath ? elf::PathTag::kRpath : elf::PathTag::kRunpath});
  }
  return rules;
}

}  // namespace ptpkg::convert
