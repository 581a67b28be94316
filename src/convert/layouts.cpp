#include "convert/layouts.h"

#include <fmt/core.h>
#include <map>

#include "convert/layouts_yaml.h"  // generated from data/layouts.yaml
#include "support/text/text.h"
#include "support/text/yaml.h"

namespace ptpkg::convert {
namespace {

using Layouts = std::map<std::string, std::vector<elf::PathRule>, std::less<>>;

Result<elf::PathRule> ParseRule(const YamlNode& node) {
  const YamlNode* files = node.Find("files");
  const YamlNode* tag = node.Find("tag");
  const YamlNode* path = node.Find("rpath");
  // No key is optional: the kind of tag decides whether LD_LIBRARY_PATH comes before or after the path
  // (ld.so(8)).
  if (files == nullptr || tag == nullptr || path == nullptr || node.entries.size() != 3) {
    return Error(ErrorCode::kInvalidInput, "a rule has 'files', 'tag' and 'rpath'").At(node.span);
  }
  elf::PathRule rule{.files = files->scalar,
                     .search_path = {},
                     .tag = tag->scalar == "rpath" ? elf::PathTag::kRpath : elf::PathTag::kRunpath};
  for (const YamlNode& entry : path->items) rule.search_path.push_back(entry.scalar);
  return rule;
}

Result<Layouts> ReadLayouts() {
  PTPKG_TRY(const YamlNode root, ParseYaml(kLayoutsYaml, "layouts.yaml"));
  Layouts layouts;
  for (const YamlEntry& entry : root.entries) {
    for (const YamlNode& item : entry.value.items) {
      PTPKG_TRY(elf::PathRule rule, ParseRule(item));
      layouts[entry.key].push_back(std::move(rule));
    }
  }
  return layouts;
}

}  // namespace

std::vector<std::string> BuiltInLayoutNames() {
  // Every start of the program asks for them three times, for its help: a millisecond each.
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    const Result<Layouts> layouts = ReadLayouts();
    PTPKG_ASSERT(layouts.has_value());  // the table is built in; tests read it
    for (const auto& [name, rules] : *layouts) list.push_back(name);
    return list;
  }();
  return names;
}

Result<std::vector<elf::PathRule>> BuiltInLayout(std::string_view name) {
  PTPKG_TRY(Layouts layouts, ReadLayouts());
  const auto found = layouts.find(name);
  if (found != layouts.end()) return std::move(found->second);
  const std::vector<std::string> names = BuiltInLayoutNames();
  const auto nearest = NearestMatch(name, names);
  return Error(ErrorCode::kNotFound, fmt::format("unknown layout '{}'", name))
      .WithHint(nearest ? fmt::format("did you mean '{}'?", *nearest)
                        : fmt::format("known layouts: {}", Join(names, ", ")));
}

}  // namespace ptpkg::convert
