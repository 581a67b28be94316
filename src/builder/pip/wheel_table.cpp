// The table maps conda requirements to wheels, as data (data/wheels.yaml). A row is one of three kinds.
// `extras` and `part` name a part of the CUDA toolkit, `folder` a package of its own that is unpacked into
// the toolkit's tree, and `package` an ordinary package. Exactly one kind is required, so a misspelt key
// cannot change a row.
//
// Python packages need no row here: the table of the machine's tools (tool_table.cpp) names them already.

#include "builder/pip/wheel_table.h"

#include <fmt/core.h>

#include "builder/tools/tool_table.h"
#include "builder/wheels_yaml.h"  // generated from data/wheels.yaml
#include "support/assert.h"
#include "support/text/yaml.h"

namespace ptpkg::builder {

namespace {

Error BadTable(const SourceSpan& span, std::string message) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(span);
}

Result<std::vector<std::string>> Texts(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kSequence) return BadTable(node.span, "expected a list");
  std::vector<std::string> texts;
  for (const YamlNode& item : node.items) texts.push_back(item.scalar);
  return texts;
}

Result<WheelRow> ParseRow(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kMapping) return BadTable(node.span, "a row must be a mapping");
  WheelRow row;
  int kinds = 0;
  for (const YamlEntry& entry : node.entries) {
    if (entry.key == "extras") {
      row.kind = WheelRow::Kind::kPart;
      PTPKG_TRY(row.extras, Texts(entry.value));
      ++kinds;
    } else if (entry.key == "part") {
      row.package = entry.value.scalar;
    } else if (entry.key == "folder") {
      row.kind = WheelRow::Kind::kFolder;
      row.package = entry.value.scalar;
      ++kinds;
    } else if (entry.key == "package") {
      row.package = entry.value.scalar;
      ++kinds;
    } else if (entry.key == "program") {
      row.program = entry.value.scalar;
    } else if (entry.key == "variable") {
      row.variable = entry.value.scalar;
    } else {
      return BadTable(entry.key_span, fmt::format("a row cannot have the key '{}'", entry.key));
    }
  }
  if (kinds != 1 || row.package.empty()) {
    return BadTable(node.span, "a row has 'extras' and 'part', or 'folder', or 'package'");
  }
  return row;
}

Result<void> ParseToolkit(const YamlNode& node, WheelTable& table) {
  for (const YamlEntry& entry : node.entries) {
    if (entry.key == "package") {
      table.toolkit = entry.value.scalar;
    } else if (entry.key == "first") {
      table.first_toolkit = entry.value.scalar;
    } else if (entry.key == "together") {
      PTPKG_TRY(const std::vector<std::string> names, Texts(entry.value));
      table.together.insert(names.begin(), names.end());
    } else {
      return BadTable(entry.key_span, fmt::format("'{}' is not a key of 'toolkit'", entry.key));
    }
  }
  return Ok();
}

}  // namespace

Result<WheelTable> ParseWheelTable(std::string_view yaml, const std::string& file) {
  PTPKG_TRY(const YamlNode root, ParseYaml(yaml, file));
  WheelTable table;
  for (const YamlEntry& section : root.entries) {
    if (section.key == "toolkit") {
      PTPKG_CHECK(ParseToolkit(section.value, table));
    } else if (section.key == "requirements") {
      for (const YamlEntry& entry : section.value.entries) {
        PTPKG_TRY(WheelRow row, ParseRow(entry.value));
        table.rows.emplace(entry.key, std::move(row));
      }
    } else {
      return BadTable(section.key_span, fmt::format("'{}' is not a section of this table", section.key));
    }
  }
  if (table.toolkit.empty() || table.first_toolkit.empty()) {
    return BadTable(root.span, "'toolkit' needs 'package' and 'first'");
  }
  return table;
}

const WheelTable& BuiltInWheelTable() {
  static const WheelTable kTable = [] {
    Result<WheelTable> table = ParseWheelTable(kWheelsYaml, "wheels.yaml");
    PTPKG_ASSERT(table.has_value());
    return *std::move(table);
  }();
  return kTable;
}

std::optional<WheelRow> FindWheelRow(const WheelTable& table, std::string_view requirement) {
  const auto found = table.rows.find(std::string(StripPlatformSuffix(requirement)));
  if (found != table.rows.end()) return found->second;
  const std::optional<Provider> provider = FindProvider(requirement);
  if (!provider || provider->kind != ProviderKind::kPythonPackage) return std::nullopt;
  return WheelRow{.kind = WheelRow::Kind::kPackage, .package = std::string(provider->probes)};
}

}  // namespace ptpkg::builder
