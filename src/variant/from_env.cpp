// A table of rules decides what a variable means. An entry has a regular expression for names and a list of
// rules, of which the first whose `match` takes the whole value counts, if other variables are as `with`
// wants. Texts of a rule contain $0 to $9, the parts that `match` found. The table beside the recipe comes
// before the built-in one. Two variables contradict each other when they give one key different values, so a
// rule sets each key that the value decides, also to "none".
//
// Invariants: a rule has at least one action. Each set variable that an entry names becomes something, is
// reported as unused, or ends the run.

#include "variant/from_env.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>
#include <regex>

#include "support/limits.h"
#include "support/process/process.h"
#include "support/text/text.h"
#include "support/text/yaml.h"
#include "variant/from_env_yaml.h"  // generated from data/from_env.yaml
#include "versions/torch_archs.h"

namespace ptpkg::variant {

namespace {

using Kind = YamlNode::Kind;

constexpr const char* kTableName = "from_env.yaml";
constexpr std::size_t kMaxValue = 4096;  // std::regex recurses for each byte
constexpr auto kTextActions =
    std::to_array<std::string_view>({"archs", "switch", "environment", "format", "jobs", "refuse", "unused"});

struct VariableRule {
  std::regex match = std::regex(".*");
  std::map<std::string, std::regex> with = {};  ///< Values that other variables must have, by name.
  std::map<std::string, std::string> set = {};  ///< Texts by variant key.
  std::map<std::string, std::string> actions = {};
  std::vector<std::string> variants = {};
  SourceSpan span;
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

Error InvalidTable(std::string message, const SourceSpan& span) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(span);
}

Result<std::regex> ParsePattern(const std::string& text, const SourceSpan& span) {
  try {
    return std::regex(text);
  } catch (const std::regex_error&) {
    return InvalidTable(fmt::format("'{}' is not a regular expression", text), span);
  }
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
    PTPKG_TRY(with[entry.key], ParsePattern(text, entry.value.span));
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
      PTPKG_TRY(rule.match, ParsePattern(text, value.span));
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

/// Errors: kInvalidInput with a place.
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
  return InvalidTable(fmt::format("a {} has a mapping 'variables'", kTableName), root.span);
}

/// A variable, and the rule that takes its value.
struct TakenVariable {
  std::string name;
  std::string value;
  const VariableRule* rule = nullptr;
  std::smatch match = {};  ///< Points into `value`: do not copy.

  [[nodiscard]] std::string Shown() const { return name + "=" + value; }
  [[nodiscard]] std::string Expand(const std::string& text) const {
    return match.format(ReplaceAll(text, "$0", "$&"));
  }
  /// The text of an action; "" if the rule lacks it.
  [[nodiscard]] std::string Text(const std::string& action) const {
    const auto found = rule->actions.find(action);
    return found == rule->actions.end() ? "" : Expand(found->second);
  }
};

/// on or off, for the words that CMake and setup.py take.
Result<std::string> SwitchValue(const TakenVariable& taken) {
  constexpr auto kOn = std::to_array<std::string_view>({"1", "on", "true", "yes", "y"});
  constexpr auto kOff = std::to_array<std::string_view>({"0", "off", "false", "no", "n"});
  const std::string word = ToLower(taken.value);
  if (std::ranges::find(kOn, word) != kOn.end()) return std::string("on");
  if (std::ranges::find(kOff, word) != kOff.end()) return std::string("off");
  return Error(ErrorCode::kUsage, fmt::format("{} is neither on nor off", taken.Shown()))
      .WithHint(fmt::format("write {0}=1 or {0}=0", taken.name));
}

class EnvironmentReader {
 public:
  EnvironmentReader(Env& env, const EnvironmentRequest& request) : env_(env), request_(request) {}

  Result<EnvironmentChoices> Read() && {
    for (const AbsPath& recipe : request_.recipes) PTPKG_CHECK(ReadTableOf(recipe));
    if (folder_ && with_table_ < request_.recipes.size()) {
      return Error(ErrorCode::kUsage, fmt::format("{} of '{}' is not for the other recipes of this run",
                                                  kTableName, folder_->str()))
          .WithHint("build one recipe after the other");
    }
    PTPKG_TRY(VariableTable built_in, ParseTable(kFromEnvYaml, kTableName));
    tables_.push_back(std::move(built_in));
    // A copy, because Apply removes from env_ each variable that became something.
    given_ = env_.variables;
    for (const auto& [name, value] : given_) {
      if (!value.empty()) PTPKG_CHECK(Take(name, value));
    }
    if (choices_.lines.empty()) choices_.lines.emplace_back("--from-env: none of its variables is set");
    for (const AbsPath& file : request_.variant_files) AddFile(file);
    return std::move(choices_);
  }

 private:
  /// Adds the recipe, and the table beside it. A directory stands for the recipe that its table names; for
  /// another recipe of the directory the table does not count.
  Result<void> ReadTableOf(const AbsPath& recipe) {
    choices_.recipes.push_back(recipe);
    PTPKG_TRY(const FileStat stat, env_.fs.Stat(recipe));
    const bool is_directory = stat.kind == FileKind::kDirectory;
    const AbsPath folder = is_directory ? recipe : recipe.Parent();
    const AbsPath file = folder / kTableName;
    PTPKG_TRY(const bool there, Exists(env_.fs, file));
    if (!there) return Ok();
    PTPKG_TRY(VariableTable table, ReadTable(file));
    const std::string name = table.recipe.value_or("recipe.yaml");
    if (!is_directory && recipe.Name() != name) return Ok();
    PTPKG_TRY(choices_.recipes.back(), AbsPath::Resolve(folder, name));
    ++with_table_;
    // Several recipes of one directory share its table. Tables of two directories could read one variable in
    // two ways.
    if (folder_ == folder) return Ok();
    if (folder_) {
      return Error(ErrorCode::kUsage,
                   fmt::format("'{}' and '{}' each have a {}", folder_->str(), folder.str(), kTableName))
          .WithHint("build one recipe after the other");
    }
    folder_ = folder;
    PTPKG_CHECK(AddFiles(table.variants));
    const std::optional<std::string> include = table.include;
    tables_.push_back(std::move(table));
    return include ? Include(folder, *include) : Ok();
  }

  Result<VariableTable> ReadTable(const AbsPath& file) {
    PTPKG_TRY(const std::string text, ReadFile(env_.fs, file, limits::kRecipe));
    return ParseTable(text, file.str());
  }

  /// Adds the variables of a table for several recipes. Its paths are relative to the recipe's directory,
  /// too.
  Result<void> Include(const AbsPath& folder, const std::string& name) {
    PTPKG_TRY(const AbsPath file, AbsPath::Resolve(folder, name));
    PTPKG_TRY(VariableTable table, ReadTable(file));
    if (table.recipe || table.include || !table.variants.empty()) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}' is included, so it has 'variables' only", file.str()))
          .WithHint(fmt::format("move the rest to '{}'", (folder / kTableName).str()));
    }
    tables_.push_back(std::move(table));
    return Ok();
  }

  /// Later files win, so one that is named again moves to the end.
  void AddFile(const AbsPath& file) {
    std::erase(choices_.variant_files, file);
    choices_.variant_files.push_back(file);
  }

  Result<void> AddFiles(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      PTPKG_TRY(const AbsPath file, AbsPath::Resolve(folder_.value_or(env_.cwd), name));
      AddFile(file);
    }
    return Ok();
  }

  /// Applies the first rule for the variable. Nothing happens if no entry names it.
  Result<void> Take(const std::string& name, const std::string& value) {
    for (const VariableTable& table : tables_) {
      for (const VariableRules& variable : table.variables) {
        if (std::regex_match(name, variable.names)) return TakeBy(variable, {.name = name, .value = value});
      }
    }
    return Ok();
  }

  Result<void> TakeBy(const VariableRules& variable, TakenVariable taken) {
    const bool has_control =
        std::ranges::any_of(taken.value, [](unsigned char c) { return c < ' ' || c == 0x7f; });
    if (has_control || taken.value.size() > kMaxValue) {
      return Error(ErrorCode::kUsage,
                   fmt::format("{} has control characters, or more than {} bytes", taken.name, kMaxValue))
          .WithHint(fmt::format("unset {}", taken.name));
    }
    for (const VariableRule& rule : variable.rules) {
      taken.rule = &rule;
      if (!HasOthers(rule)) continue;
      if (std::regex_match(std::as_const(taken.value), taken.match, rule.match)) return Apply(taken);
    }
    return Error(ErrorCode::kUsage, fmt::format("{} means nothing here", taken.Shown()))
        .At(variable.span)
        .WithHint(fmt::format("give {} a value that a rule of this entry takes, or unset it", taken.name));
  }

  /// True if the other variables have the values of `with`.
  [[nodiscard]] bool HasOthers(const VariableRule& rule) const {
    return std::ranges::all_of(rule.with, [&](const auto& other) {
      const auto found = given_.find(other.first);
      return found != given_.end() && found->second.size() <= kMaxValue &&
             std::regex_match(found->second, other.second);
    });
  }

  Result<void> Apply(const TakenVariable& taken) {
    if (const std::string reason = taken.Text("refuse"); !reason.empty()) {
      return Error(ErrorCode::kUsage, fmt::format("{}: {}", taken.Shown(), reason))
          .WithHint(fmt::format("unset {}", taken.name));
    }
    // An unused variable stays in the environment of the run: nothing of it has been carried out.
    if (const std::string reason = taken.Text("unused"); !reason.empty()) {
      choices_.lines.push_back(fmt::format("{}: not used: {}", taken.Shown(), reason));
      return Ok();
    }
    std::vector<std::string> became;
    PTPKG_CHECK(ApplyKeys(taken, became));
    PTPKG_CHECK(ApplyOptions(taken, became));
    PTPKG_CHECK(AddFiles(taken.rule->variants));
    for (const std::string& file : taken.rule->variants) became.push_back("--variants " + file);
    choices_.lines.push_back(fmt::format("{}: {}", taken.Shown(), Join(became, ", ")));
    env_.variables.erase(taken.name);
    return Ok();
  }

  Result<void> ApplyKeys(const TakenVariable& taken, std::vector<std::string>& became) {
    std::vector<std::pair<std::string, std::string>> keys;
    for (const auto& [key, text] : taken.rule->set) keys.emplace_back(key, taken.Expand(text));
    if (const std::string key = taken.Text("archs"); !key.empty()) {
      PTPKG_TRY(std::string list, versions::TorchArchitectures(taken.value),
                fmt::format("while reading {}", taken.name));
      keys.emplace_back(key, std::move(list));
    }
    if (const std::string key = taken.Text("switch"); !key.empty()) {
      PTPKG_TRY(std::string value, SwitchValue(taken));
      keys.emplace_back(key, std::move(value));
    }
    for (const auto& [key, value] : keys) {
      PTPKG_CHECK(SetKey(key, {.value = value, .origins = {taken.Shown()}}));
      became.push_back(fmt::format("variant key {}={}", key, value));
    }
    if (const std::string key = taken.Text("environment"); !key.empty()) {
      KeySetting& setting = choices_.settings[key];
      const std::string word = fmt::format("{}={}", taken.name, ShellQuote({taken.value}));
      setting.value += (setting.value.empty() ? "" : " ") + word;
      setting.origins.push_back(taken.Shown());
      became.push_back(fmt::format("build environment, by variant key {}", key));
    }
    return Ok();
  }

  Result<void> SetKey(const std::string& key, const KeySetting& setting) {
    const auto [known, added] = choices_.settings.emplace(key, setting);
    if (added) return Ok();
    std::vector<std::string>& origins = known->second.origins;
    if (known->second.value != setting.value) {
      return Error(ErrorCode::kUsage,
                   fmt::format("{} and {} contradict each other: '{}' would be both '{}' and '{}'",
                               origins.front(), setting.origins.front(), key, known->second.value,
                               setting.value))
          .WithHint("unset one of the two");
    }
    origins.push_back(setting.origins.front());
    return Ok();
  }

  /// Actions that stand for options of the command line, which win.
  Result<void> ApplyOptions(const TakenVariable& taken, std::vector<std::string>& became) {
    if (const std::string name = taken.Text("format"); !name.empty()) {
      if (!request_.has_formats) choices_.format = name;
      became.push_back(request_.has_formats ? "not used, because --format is given" : "--format " + name);
    }
    if (const std::string text = taken.Text("jobs"); !text.empty()) {
      const int others = choices_.jobs;
      const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), choices_.jobs);
      if (status != std::errc() || end != text.data() + text.size() || choices_.jobs < 1)
        return InvalidTable(fmt::format("'{}' is not a number of jobs", text), taken.rule->span);
      if (others != 0 && others != choices_.jobs) {
        return Error(ErrorCode::kUsage, fmt::format("{} and another variable contradict each other: {} jobs",
                                                    taken.Shown(), others))
            .WithHint(fmt::format("unset {}", taken.name));
      }
      if (env_.jobs_given) choices_.jobs = 0;
      became.push_back(env_.jobs_given ? "not used, because --jobs is given" : "--jobs " + text);
    }
    return Ok();
  }

  Env& env_;
  const EnvironmentRequest& request_;
  std::optional<AbsPath> folder_ = {};  ///< Of the table beside the recipes.
  std::size_t with_table_ = 0;          ///< Recipes that the table is for.
  std::vector<VariableTable> tables_ = {};
  std::map<std::string, std::string> given_ = {};  ///< Variables before any of them was taken.
  EnvironmentChoices choices_ = {};
};

}  // namespace

Result<EnvironmentChoices> ReadEnvironment(Env& env, const EnvironmentRequest& request) {
  return EnvironmentReader(env, request).Read();
}

}  // namespace ptpkg::variant
