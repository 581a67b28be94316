#include "verify/elf/dlopen_table.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/text/globs.h"
#include "support/text/text.h"
#include "support/text/yaml.h"
#include "verify/dlopened_yaml.h"  // generated from data/dlopened.yaml
#include "verify/elf/elf_tables.h"

namespace ptpkg::verify {
namespace {

Error BadTable(const SourceSpan& span, std::string message) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(span);
}

}  // namespace

Result<DlopenTable> DlopenTable::Parse(std::string_view text, const std::string& name) {
  DlopenTable table;
  PTPKG_TRY(const YamlNode root, ParseYaml(text, name));
  const YamlNode* const groups = root.kind == YamlNode::Kind::kMapping ? root.Find("groups") : nullptr;
  if (groups == nullptr || groups->kind != YamlNode::Kind::kMapping) {
    return BadTable(root.span, "the table of opened libraries has no 'groups'");
  }
  for (const YamlEntry& entry : groups->entries) {
    Group group;
    for (const YamlEntry& field : entry.value.entries) {
      std::vector<std::string> globs = Split(field.value.scalar, ' ');
      if (field.value.kind != YamlNode::Kind::kScalar)
        return BadTable(field.value.span, "globs must be text");
      if (field.key == "names") {
        group.names = std::move(globs);
      } else if (field.key == "openers") {
        group.openers = std::move(globs);
      } else if (field.key == "optional") {
        group.optional = std::move(globs);
      } else {
        // A misspelt key would silently switch a rule off.
        return BadTable(field.key_span,
                        fmt::format("unknown key '{}': the keys are names, openers, optional", field.key));
      }
    }
    if (group.names.empty())
      return BadTable(entry.key_span, fmt::format("group '{}' has no names", entry.key));
    table.groups_.push_back(std::move(group));
  }
  return table;
}

Result<DlopenTable> DlopenTable::BuiltIn() { return Parse(kDlopenedYaml, "dlopened.yaml"); }

bool DlopenTable::Knows(std::string_view name) const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [&](const Group& group) { return MatchesAnyGlob(group.names, name); });
}

bool DlopenTable::Requires(std::string_view file_name, std::string_view name) const {
  return std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
    return MatchesAnyGlob(group.names, name) && MatchesAnyGlob(group.openers, file_name) &&
           !MatchesAnyGlob(group.optional, name);
  });
}

}  // namespace ptpkg::verify
