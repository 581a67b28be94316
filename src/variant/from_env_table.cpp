#include "variant/from_env_table.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <utility>

#include "support/text/yaml.h"

namespace ptpkg::variant {

namespace {

using Kind = YamlNode::Kind;

constexpr auto kTextActions =
    std::to_array<std::string_view>({"archs", "switch", "environment", "format", "jobs", "refuse", "unused"});

Result<std::regex> ParsePattern(const std::string& text, const SourceSpan& span) {
  try {
    return std::regex(text);
  } catch (const std::regex_error&) {
    return InvalidTable(fmt::format("'{}' is not a regular expression", text), span);
  }
}

/// As above; "on" and "off" stand for all words of a switch.
Result<std::regex> ParseValuePattern(const std::string& text, const SourceSpan& span) {
  if (text == "on") return std::regex(kOnWords, std::regex::icase);
  if (text == "off") return std::regex(kOffWords, std::regex::icase);
  return ParsePattern(text, span);
}

Result<std::string> TextOf(const YamlNode& node) {
  if (node.kind == Kind::kScalar) return node.scalar;
  return InvalidTable(fmt::format("expected text, found {}", node.KindName()), node.span);
}

Result<std::vector<std::string>> TextsOf(const YamlNode& node) {
  if (node.kind != Kind::kSequence)
    return InvalidTable(fmt::format("expected a list, found {}", node.KindName()), node.span);
  std::vector<std::string> texts;
  for (const YamlNode& item : node.items) {
    PTPKG_TRY(std::string text, TextOf(item));
    texts.push_back(std::move(text));
  }
  return texts;
}

Result<void> RequireMapping(const YamlNode& node, std::string_view key) {
  if (node.kind == Kind::kMapping) return Ok();
  return InvalidTable(fmt::format("expected a mapping for '{}', found {}", key, node.KindName()), node.span);
}

Result<void> ParseWith(const YamlNode& node, std::map<std::string, std::regex>& with) {
  PTPKG_CHECK(RequireMapping(node, "with"));
  for (const YamlEntry& entry : node.entries) {
    PTPKG_TRY(const std::string text, TextOf(entry.value));
    PTPKG_TRY(with[entry.key], ParseValuePattern(text, entry.value.span));
  }
  return Ok();
}

/// 'refuse' and 'unused' leave nothing for another action to do.
Result<void> CheckActions(const VariableRule& rule) {
  const bool has_more = rule.actions.size() > 1 || !rule.set.empty() || !rule.variants.empty();
  for (const char* const alone : {"refuse", "unused"}) {
    if (!rule.actions.contains(alone) || !has_more) continue;
    return InvalidTable(fmt::format("a rule with '{}' has no other action", alone), rule.span);
  }
  if (!rule.set.empty() || !rule.actions.empty()) return Ok();
  return InvalidTable("a rule needs an action, such as 'set: {KEY: VALUE}'", rule.span);
}

Result<VariableRule> ParseRule(const YamlNode& node) {
  VariableRule rule{.span = node.span};
  for (const auto& [key, span, value] : node.entries) {
    if (key == "variants") {
      PTPKG_TRY(rule.variants, TextsOf(value));
    } else if (key == "with") {
      PTPKG_CHECK(ParseWith(value, rule.with));
    } else if (key == "set") {
      PTPKG_CHECK(RequireMapping(value, key));
      for (const YamlEntry& entry : value.entries) {
        PTPKG_TRY(rule.set[entry.key], TextOf(entry.value));
      }
    } else if (key == "match") {
      PTPKG_TRY(const std::string text, TextOf(value));
      PTPKG_TRY(rule.match, ParseValuePattern(text, value.span));
    } else if (std::ranges::find(kTextActions, key) != kTextActions.end()) {
      PTPKG_TRY(rule.actions[key], TextOf(value));
    } else {
      return InvalidTable(fmt::format("unknown key '{}' in a rule", key), span);
    }
  }
  PTPKG_CHECK(CheckActions(rule));
  return rule;
}

Result<std::vector<VariableRules>> ParseVariables(const YamlNode& node) {
  std::vector<VariableRules> variables;
  for (const auto& [key, span, value] : node.entries) {
    PTPKG_TRY(std::regex names, ParsePattern(key, span));
    VariableRules entry{.names = std::move(names), .span = span};
    if (value.items.empty()) return InvalidTable(fmt::format("'{}' has no list of rules", key), span);
    for (const YamlNode& item : value.items) {
      PTPKG_TRY(VariableRule rule, ParseRule(item));
      entry.rules.push_back(std::move(rule));
    }
    variables.push_back(std::move(entry));
  }
  return variables;
}

}  // namespace

bool VariableRule::CarriesValue() const {
  const auto refers = [](const auto& text) { return text.second.find('$') != std::string::npos; };
  return actions.contains("environment") || actions.contains("archs") || std::ranges::any_of(set, refers) ||
         std::ranges::any_of(actions, refers);
}

Error InvalidTable(std::string message, const SourceSpan& span) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(span);
}

Result<VariableTable> ParseTable(std::string_view text, const std::string& name) {
  PTPKG_TRY(const YamlNode root, ParseYaml(text, name));
  VariableTable table;
  for (const auto& [key, span, value] : root.entries) {
    if (key == "variables") {
      PTPKG_TRY(table.variables, ParseVariables(value));
    } else if (key == "variants") {
      PTPKG_TRY(table.variants, TextsOf(value));
    } else if (key == "recipe") {
      PTPKG_TRY(table.recipe, TextOf(value));
    } else if (key == "include") {
      PTPKG_TRY(table.include, TextOf(value));
    } else {
      return InvalidTable(fmt::format("'{}' is not 'recipe', 'include', 'variants' or 'variables'", key),
                          span);
    }
  }
  if (!table.variables.empty()) return table;
  return InvalidTable(fmt::format("a {} has a mapping 'variables'", kFromEnvTable), root.span);
}

}  // namespace ptpkg::variant
