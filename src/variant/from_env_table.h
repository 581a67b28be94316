#pragma once
// Parses from_env.yaml. Layer: variant.

#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::variant {

inline constexpr const char* kFromEnvTable = "from_env.yaml";

/// The words of a switch, as regular expressions without regard to case.
inline constexpr const char* kOnWords = "1|on|true|yes|y";
inline constexpr const char* kOffWords = "0|off|false|no|n";

struct VariableRule {
  std::optional<std::regex> match = {};         ///< nullopt: any value.
  std::map<std::string, std::regex> with = {};  ///< Values that other variables must have, by name.
  std::map<std::string, std::string> set = {};  ///< Texts by variant key.
  std::map<std::string, std::string> actions = {};
  std::vector<std::string> variants = {};
  SourceSpan span;

  /// True if an action passes on the variable's value or a part of it. 'switch' keeps one bit.
  [[nodiscard]] bool CarriesValue() const;
};

/// The rules for the variables whose names match.
struct VariableRules {
  std::regex names;
  SourceSpan span;
  std::vector<VariableRule> rules = {};
};

struct VariableTable {
  std::optional<std::string> recipe = {};
  std::optional<std::string> include = {};  ///< Another table, for the variables that this one does not name.
  std::vector<std::string> variants = {};
  std::vector<VariableRules> variables = {};
};

/// kInvalidInput at `span`.
Error InvalidTable(std::string message, const SourceSpan& span);

/// Every rule has at least one action. Errors: kInvalidInput with a place.
Result<VariableTable> ParseTable(std::string_view text, const std::string& name);

}  // namespace ptpkg::variant
