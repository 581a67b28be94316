#include "convert/layout_rules.h"

namespace ptpkg::convert {

std::vector<elf::PathRule> LayoutRules(const recipe::Layout& layout) {
  std::vector<elf::PathRule> rules;
  for (const recipe::LayoutRule& rule : layout) {
    rules.push_back(
        {.files = rule.files,
         .search_path = rule.rpath,
         .tag = rule.tag == recipe::RpathTag::kRpath ? elf::PathTag::kRpath : elf::PathTag::kRunpath});
  }
  return rules;
}

}  // namespace ptpkg::convert
