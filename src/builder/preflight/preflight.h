#pragma once
// Evaluates preflight rules before a build starts. Layer: builder. The rules are data (data/preflight.yaml):
// conditions over facts, in the recipe language. host_facts.h and recipe_facts.h collect the facts.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "builder/preflight/recipe_facts.h"
#include "model/finding.h"
#include "recipe/document/document.h"

namespace ptpkg::builder {

/// A rule's finding. `finding.file` is the package, "" for the machine.
struct PreflightFinding {
  Finding finding;
  std::string source;  ///< Source of the rule.
};

class PreflightRules {
 public:
  /// The rules that this program contains.
  static Result<PreflightRules> BuiltIn();
  /// Errors: kInvalidInput with a span: unknown or missing keys, syntax of expressions.
  static Result<PreflightRules> Parse(std::string_view text, const std::string& name);

  /// Errors: kInvalidInput with a span: a rule uses a name that no fact has, or cannot be evaluated.
  [[nodiscard]] Result<std::vector<PreflightFinding>> Judge(const Facts& facts) const;

  /// For tests and documentation: every rule's id, in the table's order.
  [[nodiscard]] std::vector<std::string> Ids() const;

 private:
  struct Rule {
    std::string id;
    std::optional<recipe::Expression> each;
    std::optional<recipe::Expression> when;  ///< Always set after reading.
    Severity severity = Severity::kWarning;
    recipe::Node message;
    recipe::Node fix;
    std::string source;
  };
  static Result<Rule> ReadRule(const recipe::Entry& entry);

  std::vector<std::pair<std::string, recipe::Expression>> names_;
  std::vector<Rule> rules_;
};

/// Judges builds by the built-in rules, on this machine. Drops information, passes warnings to the reporter,
/// and returns all errors together as kRefused. A finding that applies to several builds appears once, and
/// lists their names unless it applies to all. Errors: kRefused, and as ReadMachineFacts and AddRecipeFacts.
Result<void> CheckPreflight(Env& env, const std::vector<RecipeFactsInput>& builds);

}  // namespace ptpkg::builder
