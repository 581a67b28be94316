// CLI11 finds and converts the words of the line. Its options write straight to the targets; validators,
// bounds and requirements are CLI11's, with our words for its errors. A verb's options are bound when the
// verb is met, so that a run pays for one verb only. Settings of configuration files enter as CLI11's
// configuration: after the words, so that these win, and before requirements are checked, so that a file can
// fulfil them.

#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <sstream>

#include "cli/help.h"
#include "cli/help_formatter.h"
#include "cli/suggestions.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

/// Settings that were read already, as CLI11's configuration.
class StoredSettings : public CLI::Config {
 public:
  explicit StoredSettings(std::vector<CLI::ConfigItem> items) : items_(std::move(items)) {}
  std::string to_config(const CLI::App* /*app*/, bool /*default_also*/, bool /*write_description*/,
                        std::string /*prefix*/) const override {
    return "";
  }
  std::vector<CLI::ConfigItem> from_config(std::istream& /*input*/) const override { return items_; }

 private:
  std::vector<CLI::ConfigItem> items_;
};

Error TakesNoValue(const Option& option) {
  return Error(ErrorCode::kUsage, fmt::format("'{}' takes no value", option.LongName()));
}

/// An empty value comes from a variable that is not set, and would switch off a check or a change silently.
Error EmptyValue(const Option& option, const std::string& text) {
  const std::string name = option.LongName();
  Error error(ErrorCode::kUsage, text.empty()
                                     ? fmt::format("the value of '{}' is empty", name)
                                     : fmt::format("the list '{}' of '{}' has an empty item", text, name));
  if (!option.instead_of_empty.empty()) return std::move(error).WithHint(option.instead_of_empty);
  return std::move(error).WithHint(option.IsPositional()
                                       ? "set the shell variable that it came from"
                                       : "set the shell variable that it came from, or leave the option out");
}

bool HasEmptyItem(const std::string& list) {
  return std::ranges::any_of(Split(list, ','), [](const std::string& item) { return item.empty(); });
}

Result<void> CheckChoice(const Option& option, const std::string& text) {
  const std::vector<std::string>& choices = option.choices;
  if (choices.empty() || std::ranges::find(choices, text) != choices.end()) return Ok();
  // One positional word stands for itself: "'clean' takes clean" would be odd.
  const bool is_word = option.IsPositional() && choices.size() == 1;
  Error error(ErrorCode::kUsage,
              is_word ? fmt::format("only '{}' can stand there, not '{}'", choices.front(), text)
                      : fmt::format("'{}' takes {}, not '{}'", option.LongName(), OneOf(choices), text));
  const std::string hint = DidYouMean(text, choices);
  if (hint.empty()) return error;
  return std::move(error).WithHint(hint);
}

Result<void> CheckNumber(const Option& option, const Number& bounds, const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = status == std::errc() && end == text.data() + text.size();
  if (whole && value >= bounds.least && value <= bounds.most) return Ok();
  const bool bounded = bounds.most != std::numeric_limits<std::uint64_t>::max();
  return Error(ErrorCode::kUsage,
               fmt::format("'{}' takes a whole number {}, not '{}'", option.LongName(),
                           bounded ? fmt::format("from {} to {}", bounds.least, bounds.most)
                                   : fmt::format("of at least {}", bounds.least),
                           text));
}

bool HasName(const Option& option, std::string_view name) {
  const std::vector<std::string> names = option.Names();
  return std::ranges::find(names, name) != names.end();
}

/// An option and CLI11's object for it.
struct BoundOption {
  const Option* option;
  CLI::Option* parsed;
  std::set<std::string>* given;  ///< Of its verb or the program.
};

/// A flag has no value ('--quiet=false' is refused by name), and giving it twice is not an error.
CLI::Option* AddTo(CLI::App& app, const std::string& names, bool* target) {
  return app.add_flag(names, *target)
      ->disable_flag_override()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}
CLI::Option* AddTo(CLI::App& app, const std::string& names, Number target) {
  return app.add_option(names, *target.value);
}
template <class Text>
CLI::Option* AddTo(CLI::App& app, const std::string& names, Text* target) {
  return app.add_option(names, *target);
}

/// A program's options in CLI11's parser: the common ones at once, those of a verb when the line names it.
class BoundProgram {
 public:
  BoundProgram(const Program& program, std::size_t help_width)
      : program_(program), app_(program.summary, program.name), help_width_(help_width) {
    // A line without a command is for main(), which prints the help.
    app_.require_subcommand(0, 1);
    // Common options are found behind the verb too, where most people write them.
    app_.fallthrough();
    app_.set_help_flag("-h,--help", "Print this help");
    app_.formatter(MakeHelpFormatter(help_width));
    app_.footer(HelpFooter(program, nullptr, help_width));
    for (const Option& option : program.common) Bind(app_, option, program.given);
    for (const Verb& verb : program.verbs) {
      CLI::App* sub = app_.add_subcommand(verb.name, verb.summary)->group("Commands");
      sub->preparse_callback([this, sub, &verb](std::size_t /*words_left*/) { BindVerb(*sub, verb); });
    }
  }

  [[nodiscard]] CLI::App& app() { return app_; }
  [[nodiscard]] const CLI::App& app() const { return app_; }
  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const std::vector<BoundOption>& options() const { return bound_; }
  /// The last value that CheckValue() refused, in our words.
  [[nodiscard]] const std::optional<Error>& refusal() const { return refusal_; }

  /// The option called `name`; null if none that is bound has that name.
  [[nodiscard]] const BoundOption* Find(const std::string& name) const {
    const auto found =
        std::ranges::find_if(bound_, [&](const BoundOption& bound) { return HasName(*bound.option, name); });
    return found == bound_.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool IsGiven(const std::string& name) const {
    const BoundOption* bound = Find(name);
    return bound != nullptr && bound->parsed->count() > 0;
  }
  /// The verb that the line names; null if there is none.
  [[nodiscard]] const Verb* ChosenVerb() const {
    const auto chosen = app_.get_subcommands();
    return chosen.empty() ? nullptr : FindVerb(program_, chosen.front()->get_name());
  }

 private:
  /// CLI11 only has to be told of a failure; refusal_ has our words for it.
  CLI::Validator ValidatorOf(const Option& option) {
    const auto check = [this, &option](const std::string& text) -> std::string {
      const auto checked = CheckValue(option, text);
      if (checked) return "";
      refusal_ = checked.error();
      return refusal_->message();
    };
    return CLI::Validator(check, "");
  }

  void Bind(CLI::App& app, const Option& option, std::set<std::string>* given) {
    CLI::Option* parsed =
        std::visit([&](auto target) { return AddTo(app, option.names, target); }, option.target);
    parsed->description(OptionText(option))->option_text(OptionHead(option));
    if (!option.group.empty()) parsed->group(option.group);
    // Without extra arguments: '--format wheel RECIPE' would otherwise take RECIPE for a second format.
    if (!option.IsFlag()) parsed->check(ValidatorOf(option))->allow_extra_args(false);
    if (option.IsPositional()) parsed->required(!option.MayBeMissing());
    if (option.IsPositional() && option.Repeats()) {
      // All words that are left. With extra arguments, CLI11 would take "[a,b]" for two of them.
      constexpr int kMany = 1 << 20;
      parsed->expected(kMany)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
    bound_.push_back({.option = &option, .parsed = parsed, .given = given});
  }

  void BindVerb(CLI::App& app, const Verb& verb) {
    app.footer(HelpFooter(program_, &verb, help_width_));
    for (const Option& option : verb.options) Bind(app, option, verb.given);
    for (const Option& option : verb.options) {
      if (option.needs.empty()) continue;
      Find(option.LongName())->parsed->needs(Find(option.needs)->parsed);
    }
  }

  const Program& program_;
  CLI::App app_;
  std::size_t help_width_;
  std::vector<BoundOption> bound_;
  std::optional<Error> refusal_;
};

/// The words as CLI11 needs them: it takes "=x" of "-o=x" for the value, and the next word for the value of
/// "--option=".
Result<std::vector<std::string>> Spelled(const Program& program, std::vector<std::string> words) {
  const auto named = std::ranges::find_if(
      words, [&](const std::string& word) { return FindVerb(program, word) != nullptr; });
  const Verb* verb = named == words.end() ? nullptr : FindVerb(program, *named);
  for (std::string& word : words) {
    if (word == "--") break;
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || !word.starts_with('-')) continue;
    const std::string name = word.substr(0, equals);
    const Option* option = verb == nullptr ? nullptr : FindOption(verb->options, name);
    if (option == nullptr) option = FindOption(program.common, name);
    if (option == nullptr) continue;
    if (equals + 1 == word.size()) return option->IsFlag() ? TakesNoValue(*option) : EmptyValue(*option, "");
    word.replace(0, equals, option->LongName());
  }
  return words;
}

/// Parses the words of the line. False where it lacks something that settings may bring.
bool TakeWords(BoundProgram& line, std::vector<std::string> words, bool may_lack) {
  // A missing requirement can only come from a file if a verb is known, whose table could hold it. With an
  // unknown word on the line, the files don't matter: that word is the mistake.
  const auto must_fail = [&] {
    const bool has_unknown_words = line.app().remaining_size(/*recurse=*/true) > 0;
    return !may_lack || line.ChosenVerb() == nullptr || has_unknown_words;
  };
  try {
    line.app().parse(std::move(words));
    return true;
  } catch (const CLI::RequiredError&) {
    if (must_fail()) throw;  // allowed: rethrown in the adapter
  } catch (const CLI::RequiresError&) {
    if (must_fail()) throw;  // allowed: rethrown in the adapter
  }
  return false;
}

/// The settings that apply to `verb`, as CLI11's configuration.
std::vector<CLI::ConfigItem> ConfigItemsOf(const BoundProgram& line, const Verb& verb,
                                           const std::vector<Setting>& settings) {
  const auto is_set = [&](const std::string& name) {
    return line.IsGiven(name) ||
           std::ranges::any_of(settings, [&](const Setting& setting) { return setting.option == name; });
  };
  std::vector<CLI::ConfigItem> items;
  for (const Setting& setting : settings) {
    const Option* own = FindOption(verb.options, setting.option);
    const Option* option = own != nullptr ? own : FindOption(line.program().common, setting.option);
    // A file is for many lines. A setting whose option needs another one waits for a line that has it, where
    // the same on a command line is an error.
    if (option == nullptr || (!option->needs.empty() && !is_set(option->needs))) continue;
    if (option->IsFlag() && setting.values.front() != "true") continue;  // so it is without a setting
    CLI::ConfigItem item;
    if (own != nullptr) item.parents = {verb.name};
    item.name = setting.option.substr(2);
    item.inputs = setting.values;
    items.push_back(std::move(item));
  }
  return items;
}

/// Parses what the line lacks, and checks requirements again.
void TakeSettings(BoundProgram& line, std::vector<CLI::ConfigItem> items) {
  // CLI11 keeps it, and hands it to the verb.
  line.app().config_formatter(std::make_shared<StoredSettings>(std::move(items)));
  // parse() would forget the words of the line first. This call keeps them.
  std::istringstream nothing;
  line.app().parse_from_stream(nothing);
}

std::vector<std::string> PositionalWords(const BoundProgram& line) {
  std::vector<std::string> words;
  for (const BoundOption& bound : line.options()) {
    if (!bound.option->IsPositional()) continue;
    words.insert(words.end(), bound.parsed->results().begin(), bound.parsed->results().end());
  }
  return words;
}

/// Throws CLI::ParseError.
Result<ParsedLine> ParseWords(BoundProgram& line, const std::vector<std::string>& words,
                              const SettingsOf& settings) {
  PTPKG_TRY(std::vector<std::string> spelled, Spelled(line.program(), words));
  std::ranges::reverse(spelled);  // the order that CLI11 takes a vector in
  const bool complete = TakeWords(line, std::move(spelled), settings != nullptr);
  for (const BoundOption& bound : line.options()) {
    // Before the settings come in: CLI11 counts them like words of the line.
    if (bound.given != nullptr && bound.parsed->count() > 0) bound.given->insert(bound.option->LongName());
  }
  const Verb* verb = line.ChosenVerb();
  std::vector<Setting> stored;
  if (verb != nullptr && settings) {
    PTPKG_TRY(stored, settings(*verb, PositionalWords(line)));
  }
  // Without settings too: a requirement that waited for them has to fail now.
  if (!complete || !stored.empty()) TakeSettings(line, ConfigItemsOf(line, *verb, stored));
  return ParsedLine{.verb = verb};
}

bool WantsHelp(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  const CLI::App* verb = chosen.empty() ? &app : chosen.front();
  return app.get_help_ptr()->count() > 0 || verb->get_help_ptr()->count() > 0;
}

Error UsageError(const BoundProgram& line, std::string message) {
  return Error(ErrorCode::kUsage, std::move(message))
      .WithHint(fmt::format("see '{} --help'", CommandName(line.program(), line.ChosenVerb())));
}

/// Too many values, too few, or one for a flag, which CLI11 names without its dashes.
Error ExplainMismatch(const BoundProgram& line, const std::string& name) {
  for (const std::string& flag : {"--" + name, "-" + name}) {
    if (const BoundOption* bound = line.Find(flag); bound != nullptr) return TakesNoValue(*bound->option);
  }
  const BoundOption* bound = line.Find(name);
  if (bound != nullptr && bound->parsed->count() > 1)
    return UsageError(line, fmt::format("'{}' is given twice", name));
  return Error(ErrorCode::kUsage, fmt::format("'{}' needs a value", name))
      .WithHint(fmt::format("a value that begins with '-' is written '{}=VALUE'", name));
}

Error ExplainUnknownWord(const BoundProgram& line, const std::string& word,
                         const std::vector<std::string>& words) {
  const Program& program = line.program();
  const Verb* verb = line.ChosenVerb();
  if (word.starts_with('-')) return UnknownOption(program, verb, word);
  if (verb == nullptr) return UnknownVerb(program, word, words);
  const auto last = std::ranges::find_if(verb->options.rbegin(), verb->options.rend(), &Option::IsPositional);
  if (last == verb->options.rend()) {
    return UsageError(
        line, fmt::format("'{}' takes no argument; '{}' is too many", CommandName(program, verb), word));
  }
  return UsageError(line, fmt::format("'{}' takes one {}; '{}' is too many", CommandName(program, verb),
                                      last->names, word));
}

/// CLI11's words for it name the option in front: "--output: 1 required TEXT missing".
Error ExplainFailure(const BoundProgram& line, const CLI::ParseError& failure,
                     const std::vector<std::string>& words) {
  // An unknown word explains the failure better than what is missing because of it.
  std::vector<std::string> rest = line.app().remaining(/*recurse=*/true);
  std::erase(rest, "--");
  if (!rest.empty()) return ExplainUnknownWord(line, rest.front(), words);
  const std::string text = failure.what();
  const std::string name = text.substr(0, text.find_first_of(": "));
  const BoundOption* bound = line.Find(name);
  if (failure.get_name() == "ArgumentMismatch") return ExplainMismatch(line, name);
  if (failure.get_name() == "RequiresError" && bound != nullptr)
    return UsageError(line, fmt::format("'{}' needs '{}' too", name, bound->option->needs));
  if (failure.get_name() == "RequiredError" && bound != nullptr) {
    return UsageError(line, fmt::format("'{}' needs {}: {}", CommandName(line.program(), line.ChosenVerb()),
                                        name, bound->option->help));
  }
  return UsageError(line, ReplaceAll(text, "\n", "; "));
}

}  // namespace

bool Option::MayBeMissing() const {
  return optional || std::holds_alternative<std::optional<std::string>*>(target);
}

std::vector<std::string> Option::Names() const { return Split(names, ','); }

std::string Option::LongName() const {
  for (std::string& name : Names()) {
    if (name.starts_with("--")) return std::move(name);
  }
  return names;
}

const Verb* FindVerb(const Program& program, std::string_view name) {
  const auto verb = std::ranges::find(program.verbs, name, &Verb::name);
  return verb == program.verbs.end() ? nullptr : &*verb;
}

const Option* FindOption(const std::vector<Option>& options, std::string_view name) {
  const auto option = std::ranges::find_if(options, [&](const Option& candidate) {
    return !candidate.IsPositional() && HasName(candidate, name);
  });
  return option == options.end() ? nullptr : &*option;
}

Result<void> CheckValue(const Option& option, const std::string& text) {
  if (text.empty() || (option.value == "LIST" && HasEmptyItem(text))) return EmptyValue(option, text);
  if (const Number* bounds = std::get_if<Number>(&option.target)) return CheckNumber(option, *bounds, text);
  return CheckChoice(option, text);
}

Result<ParsedLine> ParseCommandLine(const Program& program, const std::vector<std::string>& words,
                                    const ParseOptions& options) {
  BoundProgram line(program, options.help_width);
  try {
    return ParseWords(line, words, options.settings);
  } catch (const CLI::ParseError& failure) {
    // Help comes before any complaint about the rest of the line.
    if (WantsHelp(line.app()))
      return ParsedLine{.verb = line.ChosenVerb(), .help = std::string(Trim(line.app().help()))};
    return line.refusal() ? *line.refusal() : ExplainFailure(line, failure, words);
  }
}

}  // namespace ptpkg::cli
