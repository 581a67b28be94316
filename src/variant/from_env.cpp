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
#include <charconv>
#include <fmt/core.h>
#include <regex>

#include "support/limits.h"
#include "support/process/process.h"
#include "support/secret_name.h"
#include "support/text/display_text.h"
#include "support/text/text.h"
#include "variant/from_env_table.h"
#include "variant/from_env_yaml.h"  // generated from data/from_env.yaml
#include "versions/torch_archs.h"

namespace ptpkg::variant {

namespace {

constexpr std::size_t kMaxValue = 4096;  // std::regex recurses for each byte

/// A variable, and the rule that takes its value.
struct TakenVariable {
  std::string name;
  std::string value;
  const VariableRule* rule = nullptr;
  std::smatch match = {};  ///< Points into `value`: do not copy.

  /// False for a value that no regular expression is tried on.
  [[nodiscard]] bool IsPlain() const {
    return value.size() <= kMaxValue &&
           std::ranges::none_of(value, [](unsigned char c) { return c < ' ' || c == 0x7f; });
  }
  [[nodiscard]] bool IsSecret() const { return HoldsSecret(name, value) || MaskCredentials(value) != value; }
  [[nodiscard]] std::string Shown() const {
    if (IsSecret()) return fmt::format("{}={}", name, kCredentialMask);
    return fmt::format("{}={}", name, IsPlain() ? value : "…");
  }
  /// `text` with the value in place of $0, and its groups in place of $1 to $9.
  [[nodiscard]] std::string Expand(std::string_view text) const {
    std::string expanded;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool is_group = text[i] == '$' && i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9';
      if (!is_group) {
        expanded += text[i];
        continue;
      }
      const auto group = static_cast<std::size_t>(text[++i] - '0');
      if (group == 0) expanded += value;
      if (group > 0 && group < match.size()) expanded += match.str(group);
    }
    return expanded;
  }
  /// The text of an action; "" if the rule lacks it.
  [[nodiscard]] std::string Text(const std::string& action) const {
    const auto found = rule->actions.find(action);
    return found == rule->actions.end() ? "" : Expand(found->second);
  }
};

/// on or off, for the words that CMake and setup.py take.
Result<std::string> SwitchValue(const TakenVariable& taken) {
  const auto is = [&](const char* words) {
    return taken.IsPlain() && std::regex_match(taken.value, std::regex(words, std::regex::icase));
  };
  if (is(kOnWords)) return std::string("on");
  if (is(kOffWords)) return std::string("off");
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
                                                  kFromEnvTable, folder_->str()))
          .WithHint("build one recipe after the other");
    }
    PTPKG_TRY(VariableTable built_in, ParseTable(kFromEnvYaml, kFromEnvTable));
    tables_.push_back(std::move(built_in));
    // A copy, because Apply removes from env_ each variable that became something.
    given_ = env_.variables;
    for (const auto& [name, value] : given_) {
      if (!value.empty()) PTPKG_CHECK(Take(name, value));
    }
    if (choices_.lines.empty()) choices_.lines.emplace_back("--from-env: none of its variables is set");
    for (const AbsPath& file : request_.variant_files) AddFile(file);
    choices_.format = options_["--format"].value;
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
    const AbsPath file = folder / kFromEnvTable;
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
                   fmt::format("'{}' and '{}' each have a {}", folder_->str(), folder.str(), kFromEnvTable))
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
          .WithHint(fmt::format("move the rest to '{}'", (folder / kFromEnvTable).str()));
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
    for (const VariableRule& rule : variable.rules) {
      taken.rule = &rule;
      if (!HasOthers(rule)) continue;
      // CI services export texts of several lines, such as commit messages.
      const bool is_unused = !rule.match && rule.actions.contains("unused");
      if (!is_unused && !taken.IsPlain()) {
        return Error(ErrorCode::kUsage,
                     fmt::format("{} has control characters, or more than {} bytes", taken.name, kMaxValue))
            .WithHint(fmt::format("unset {}", taken.name));
      }
      if (!rule.match || std::regex_match(std::as_const(taken.value), taken.match, *rule.match))
        return Apply(taken);
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
    if (taken.IsSecret() && taken.rule->CarriesValue()) {
      return Error(ErrorCode::kUsage,
                   fmt::format("{} is a secret, and the package would contain it", taken.Shown()))
          .At(taken.rule->span)
          .WithHint(fmt::format("unset {}, or list it in build.script.secrets and give it a rule 'unused'",
                                taken.name));
    }
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
      PTPKG_CHECK(SetOnce(choices_.settings, key, {.value = value, .origins = {taken.Shown()}}));
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

  static Result<void> SetOnce(KeySettings& settings, const std::string& key, const KeySetting& setting) {
    const auto [known, added] = settings.emplace(key, setting);
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
    for (const auto& [action, is_given] :
         {std::pair("format", request_.has_formats), std::pair("jobs", env_.jobs_given)}) {
      const std::string text = taken.Text(action);
      if (text.empty()) continue;
      const std::string option = fmt::format("--{}", action);
      became.push_back(is_given ? fmt::format("not used, because {} is given", option) : option + " " + text);
      if (!is_given) PTPKG_CHECK(SetOnce(options_, option, {.value = text, .origins = {taken.Shown()}}));
    }
    const std::string jobs = taken.Text("jobs");
    int number = 0;
    const auto [end, status] = std::from_chars(jobs.data(), jobs.data() + jobs.size(), number);
    if (!jobs.empty() && (status != std::errc() || end != jobs.data() + jobs.size() || number < 1))
      return InvalidTable(fmt::format("'{}' is not a number of jobs", jobs), taken.rule->span);
    if (!env_.jobs_given && number > 0) choices_.jobs = number;
    return Ok();
  }

  Env& env_;
  const EnvironmentRequest& request_;
  std::optional<AbsPath> folder_ = {};  ///< Of the table beside the recipes.
  std::size_t with_table_ = 0;          ///< Recipes that the table is for.
  std::vector<VariableTable> tables_ = {};
  std::map<std::string, std::string> given_ = {};  ///< Variables before any of them was taken.
  KeySettings options_ = {};                       ///< "--format" and "--jobs".
  EnvironmentChoices choices_ = {};
};

}  // namespace

Result<EnvironmentChoices> ReadEnvironment(Env& env, const EnvironmentRequest& request) {
  return EnvironmentReader(env, request).Read();
}

}  // namespace ptpkg::variant
