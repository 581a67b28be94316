// Some builds are known to fail after hours, and the cause is visible in the first second. The rules are data
// with a source each, because they follow releases of PyTorch, CUDA and CMake. They are written in the
// expression language of recipes, over facts instead of variant keys.
//
// Three layers, in this order: facts of the machine and of one build, names (expressions that rules share, in
// the order of the file), then rules, once per item of `each`. So a name may use earlier names, and a rule
// may use all of them.
//
// Findings of several builds with equal id and message are one line that names the builds. Only errors stop
// the run, and all errors are reported at once.

#include "builder/preflight/preflight.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>

#include "builder/preflight/host_facts.h"
#include "builder/preflight_yaml.h"  // generated from data/preflight.yaml
#include "recipe/document/typed_reader.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

/// Rules read facts, never a variant.
class NoVariants final : public recipe::VariantValues {
 public:
  std::optional<recipe::Value> Read(const std::string& /*key*/) override { return std::nullopt; }
  void NoteBuiltin(const std::string& /*key*/, const recipe::Value& /*value*/) override {}
  [[nodiscard]] std::vector<std::string> Keys() const override { return {}; }
};

Error BadRule(const SourceSpan& span, std::string message) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(span);
}

Result<Severity> ReadSeverity(const recipe::Node& node) {
  if (node.raw == "error") return Severity::kError;
  if (node.raw == "warning") return Severity::kWarning;
  if (node.raw == "info") return Severity::kInfo;
  return BadRule(node.span, fmt::format("'{}' is not error, warning or info", node.raw));
}

Result<const recipe::Node*> MappingIn(const recipe::Node& root, std::string_view key) {
  const recipe::Node* node = root.kind == recipe::Node::Kind::kMapping ? root.Find(key) : nullptr;
  if (node != nullptr && node->kind == recipe::Node::Kind::kMapping) return node;
  return BadRule(root.span, fmt::format("the rule table has no '{}'", key));
}

/// One rule for one item, or for all.
Result<PreflightFinding> MakeFinding(recipe::Reader& reader, const recipe::Node& message,
                                     const recipe::Node& fix, PreflightFinding found) {
  PTPKG_TRY(found.finding.message, reader.ReadText(message));
  PTPKG_TRY(found.finding.fix, reader.ReadText(fix));
  return found;
}

}  // namespace

Result<PreflightRules> PreflightRules::BuiltIn() { return Parse(kPreflightYaml, "preflight.yaml"); }

Result<PreflightRules> PreflightRules::Parse(std::string_view text, const std::string& name) {
  PTPKG_TRY(const YamlNode yaml, ParseYaml(text, name));
  PTPKG_TRY(const recipe::Node root, recipe::ParseNode(yaml, text));
  PTPKG_TRY(const recipe::Node* names, MappingIn(root, "names"));
  PTPKG_TRY(const recipe::Node* rules, MappingIn(root, "rules"));
  PreflightRules table;
  for (const recipe::Entry& entry : names->entries) {
    PTPKG_TRY(recipe::Expression expression, recipe::ParseBareExpression(entry.value));
    table.names_.emplace_back(entry.key, std::move(expression));
  }
  for (const recipe::Entry& entry : rules->entries) {
    PTPKG_TRY(Rule rule, ReadRule(entry), fmt::format("in rule '{}'", entry.key));
    table.rules_.push_back(std::move(rule));
  }
  return table;
}

Result<PreflightRules::Rule> PreflightRules::ReadRule(const recipe::Entry& entry) {
  Rule rule;
  rule.id = entry.key;
  if (entry.value.kind != recipe::Node::Kind::kMapping) return BadRule(entry.key_span, "a rule is a mapping");
  for (const recipe::Entry& field : entry.value.entries) {
    if (field.value.kind != recipe::Node::Kind::kScalar)
      return BadRule(field.value.span, fmt::format("'{}' is a text", field.key));
    if (field.key == "each" || field.key == "when") {
      PTPKG_TRY(recipe::Expression expression, recipe::ParseBareExpression(field.value));
      (field.key == "each" ? rule.each : rule.when) = std::move(expression);
    } else if (field.key == "severity") {
      PTPKG_TRY(rule.severity, ReadSeverity(field.value));
    } else if (field.key == "message") {
      rule.message = field.value;
    } else if (field.key == "fix") {
      rule.fix = field.value;
    } else if (field.key == "source") {
      rule.source = field.value.raw;
    } else {
      return BadRule(field.key_span,
                     fmt::format("unknown key '{}': the keys are each, when, severity, message, fix, source",
                                 field.key));
    }
  }
  for (const char* key : {"when", "severity", "message", "fix", "source"}) {
    if (entry.value.Find(key) == nullptr)
      return BadRule(entry.key_span, fmt::format("the rule has no '{}'", key));
  }
  return rule;
}

Result<std::vector<PreflightFinding>> PreflightRules::Judge(const Facts& facts) const {
  NoVariants variants;
  const std::map<std::string, std::string> environment;
  recipe::Scope scope("linux-64", variants, environment);
  recipe::Reader reader(scope);
  for (const auto& [name, value] : facts) scope.Define(name, value);
  for (const auto& [name, expression] : names_) {
    PTPKG_TRY(recipe::Value value, expression.Evaluate(scope));
    scope.Define(name, std::move(value));
  }
  const auto subject = facts.find("subject");
  const std::string* name = subject == facts.end() ? nullptr : subject->second.AsText();
  std::vector<PreflightFinding> found;
  for (const Rule& rule : rules_) {
    recipe::Value::List items = {recipe::Value()};
    if (rule.each) {
      PTPKG_TRY(const recipe::Value list, rule.each->Evaluate(scope));
      items = list.AsList() == nullptr ? recipe::Value::List() : *list.AsList();
    }
    for (recipe::Value& item : items) {
      scope.Define("item", std::move(item));
      PTPKG_TRY(const recipe::Value holds, rule.when->Evaluate(scope));
      if (!holds.Truthy()) continue;
      PTPKG_TRY(PreflightFinding finding, MakeFinding(reader, rule.message, rule.fix,
                                                      {.finding = {.id = rule.id,
                                                                   .severity = rule.severity,
                                                                   .file = name == nullptr ? "" : *name,
                                                                   .message = "",
                                                                   .fix = ""},
                                                       .source = rule.source}));
      found.push_back(std::move(finding));
    }
  }
  return found;
}

std::vector<std::string> PreflightRules::Ids() const {
  std::vector<std::string> ids;
  for (const Rule& rule : rules_) ids.push_back(rule.id);
  return ids;
}

namespace {

/// One finding, and the builds that it holds for.
struct ReportedFinding {
  Finding finding;
  std::set<std::string> subjects = {};
  std::set<std::string> fixes = {};
};

void Collect(const std::vector<PreflightFinding>& found, std::vector<ReportedFinding>& all) {
  for (const PreflightFinding& one : found) {
    const Finding& finding = one.finding;
    const auto same = std::find_if(all.begin(), all.end(), [&](const ReportedFinding& told) {
      return told.finding.id == finding.id && told.finding.message == finding.message;
    });
    ReportedFinding& told = same == all.end() ? all.emplace_back(ReportedFinding{.finding = finding}) : *same;
    told.subjects.insert(finding.file);
    told.fixes.insert(finding.fix);
  }
}

/// "MESSAGE [ID]", with the builds that it holds for, unless it holds for all.
std::string ReportedText(const ReportedFinding& told, std::size_t builds) {
  std::string text = fmt::format("{} [{}]", told.finding.message, told.finding.id);
  if (told.subjects.size() == builds) return text;
  return fmt::format("{} ('{}')", text, fmt::join(told.subjects, "', '"));
}

Error Refusal(const std::vector<ReportedFinding>& errors, std::size_t builds) {
  std::set<std::string> failing;
  std::vector<std::string> texts;
  std::set<std::string> fixes;
  for (const ReportedFinding& told : errors) {
    failing.insert(told.subjects.begin(), told.subjects.end());
    texts.push_back(ReportedText(told, builds));
    fixes.insert(told.fixes.begin(), told.fixes.end());
  }
  const std::string which =
      builds == 1 ? "the build" : fmt::format("{} of the {} builds", failing.size(), builds);
  return Error(ErrorCode::kRefused, fmt::format("{} would fail: {}", which, Join(texts, "; ")))
      .WithHint(fmt::format("{}; build anyway: --no-preflight", fmt::join(fixes, "; ")));
}

}  // namespace

Result<void> CheckPreflight(Env& env, const std::vector<RecipeFactsInput>& builds) {
  if (builds.empty()) return Ok();
  PTPKG_TRY(const Facts machine, ReadMachineFacts(env));
  PTPKG_TRY(const PreflightRules rules, PreflightRules::BuiltIn());
  std::vector<ReportedFinding> all;
  for (const RecipeFactsInput& build : builds) {
    Facts facts = machine;
    PTPKG_CHECK(AddRecipeFacts(env, build, facts));
    PTPKG_TRY(const std::vector<PreflightFinding> found, rules.Judge(facts));
    Collect(found, all);
  }
  std::vector<ReportedFinding> errors;
  for (ReportedFinding& told : all) {
    if (told.finding.severity == Severity::kWarning)
      env.reporter.Warn(
          fmt::format("{}; {}", ReportedText(told, builds.size()), fmt::join(told.fixes, "; ")));
    if (told.finding.severity == Severity::kError) errors.push_back(std::move(told));
  }
  return errors.empty() ? Ok() : Result<void>(Refusal(errors, builds.size()));
}

}  // namespace ptpkg::builder
