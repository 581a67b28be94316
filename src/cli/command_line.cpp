#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <deque>
#include <fmt/core.h>

#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

std::string Called(const Program& program, const Verb* verb) {
  return verb == nullptr ? program.name : fmt::format("{} {}", program.name, verb->name);
}

Error Usage(const Program& program, const Verb* verb, std::string message) {
  return Error(ErrorCode::kUsage, std::move(message))
      .WithHint(fmt::format("see '{} --help'", Called(program, verb)));
}

std::string OneOf(std::vector<std::string> words) {
  if (words.size() < 2) return Join(words, "");
  const std::string last = std::move(words.back());
  words.pop_back();
  return fmt::format("{} or {}", Join(words, ", "), last);
}

// CLI11 takes "[a,b]" for two values, and the next word for the value of "--option=". Such a value gets this
// byte in front, which no argument begins with.
constexpr char kGuard = '\x01';

bool NeedsGuard(std::string_view value) {
  return value.empty() || (value.starts_with('[') && value.ends_with(']'));
}

void Guard(std::string& word) {
  const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
  const std::size_t value = equals == std::string::npos ? 0 : equals + 1;
  if (NeedsGuard(std::string_view(word).substr(value))) word.insert(value, 1, kGuard);
}

void Unguard(std::string& text) {
  const std::size_t at = text.find(kGuard);
  if (at != std::string::npos) text.erase(at, 1);
}

/// An option, and CLI11's view of it. CLI11 finds the words; what they mean is judged here, so that every
/// message is ours.
struct Bound {
  const Option* option;
  CLI::Option* parsed;
  std::vector<std::string> texts = {};

  [[nodiscard]] bool Given() const { return parsed->count() > 0; }
};

class LineParser {
 public:
  explicit LineParser(const Program& program) : program_(program), app_(program.summary, program.name) {
    app_.require_subcommand(0, 1);
    app_.fallthrough();
    for (const Option& option : program.common) Bind(app_, option);
    for (const Verb& verb : program.verbs) {
      CLI::App& sub = *app_.add_subcommand(verb.name, verb.summary);
      for (const Option& option : verb.options) Bind(sub, option);
    }
  }

  Result<ParsedLine> Run(std::vector<std::string> words) {
    if (!words.empty() && words.front() == "version") words.front() = "--version";
    if (!words.empty() && words.front() == "help") return Help(words);
    SpellOut(words);
    for (std::string& word : words) Guard(word);
    std::reverse(words.begin(), words.end());  // the order that CLI11 takes a vector in
    try {
      app_.parse(std::move(words));
    } catch (const CLI::CallForHelp&) {
      return ParsedLine{.verb = Chosen(), .help = true};
    } catch (const CLI::ParseError& failure) {
      return Explain(failure);
    }
    const Verb* verb = Chosen();
    for (Bound& bound : bound_) {
      for (std::string& text : bound.texts) Unguard(text);
      if (!Concerns(bound, verb)) continue;
      PTPKG_CHECK(Store(bound, verb));
    }
    return ParsedLine{.verb = verb};
  }

 private:
  void Bind(CLI::App& app, const Option& option) {
    Bound& bound = bound_.emplace_back(Bound{.option = &option, .parsed = nullptr});
    if (option.IsFlag()) {
      bound.parsed = app.add_flag(option.names)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    } else {
      // A positional argument takes all words, and is counted later; of "--select a=b recipe", the last is a
      // recipe.
      bound.parsed = app.add_option(option.names, bound.texts)
                         ->allow_extra_args(option.IsPositional() && option.words == 0);
      if (option.words > 0) bound.parsed->expected(option.words);
    }
  }

  /// "-o=x" as "--output=x": CLI11 would take "=x" for the value.
  void SpellOut(std::vector<std::string>& words) const {
    for (std::string& word : words) {
      if (word == "--") return;
      if (word.size() < 3 || word[0] != '-' || word[2] != '=') continue;
      const std::string name = word.substr(0, 2);
      for (const Bound& bound : bound_) {
        const std::vector<std::string> names = bound.option->Names();
        if (std::find(names.begin(), names.end(), name) == names.end()) continue;
        word.replace(0, 2, bound.option->LongName());
        break;
      }
    }
  }

  /// "help" and "help VERB".
  [[nodiscard]] Result<ParsedLine> Help(const std::vector<std::string>& words) const {
    ParsedLine line{.help = true};
    if (words.size() == 1 || words[1].starts_with('-')) return line;
    line.verb = FindVerb(words[1]);
    if (line.verb == nullptr) return UnknownWord(words[1], nullptr);
    return line;
  }

  [[nodiscard]] const Verb* FindVerb(const std::string& name) const {
    const auto verb = std::find_if(program_.verbs.begin(), program_.verbs.end(),
                                   [&](const Verb& candidate) { return candidate.name == name; });
    return verb == program_.verbs.end() ? nullptr : &*verb;
  }

  [[nodiscard]] const Verb* Chosen() const {
    const auto chosen = app_.get_subcommands();
    return chosen.empty() ? nullptr : FindVerb(chosen.front()->get_name());
  }

  [[nodiscard]] bool Concerns(const Bound& bound, const Verb* verb) const {
    const auto holds = [&](const std::vector<Option>& options) {
      return std::any_of(options.begin(), options.end(),
                         [&](const Option& option) { return &option == bound.option; });
    };
    return holds(program_.common) || (verb != nullptr && holds(verb->options));
  }

  Result<void> Store(const Bound& bound, const Verb* verb) {
    const Option& option = *bound.option;
    PTPKG_CHECK(CheckCount(bound, verb));
    if (!bound.Given()) return Ok();
    const auto given = [&](const Bound& other) {
      const std::vector<std::string> names = other.option->Names();
      return other.Given() && std::find(names.begin(), names.end(), option.needs) != names.end();
    };
    if (!option.needs.empty() && std::none_of(bound_.begin(), bound_.end(), given)) {
      return Usage(program_, verb, fmt::format("'{}' needs '{}' too", option.LongName(), option.needs));
    }
    for (const std::string& text : bound.texts) {
      if (text.empty() || (option.value == "LIST" && HasEmptyItem(text))) return Empty(option, text);
      PTPKG_CHECK(CheckChoice(option, text));
    }
    if (option.given != nullptr) option.given->insert(option.LongName());
    return std::visit([&](auto target) { return Put(bound, target); }, option.target);
  }

  Result<void> CheckCount(const Bound& bound, const Verb* verb) const {
    const Option& option = *bound.option;
    if (option.IsPositional()) {
      if (bound.texts.empty() && !option.MayBeMissing()) {
        return Usage(program_, verb,
                     fmt::format("'{}' needs {}: {}", Called(program_, verb), option.names, option.help));
      }
      if (bound.texts.size() > 1 && !option.Repeats()) {
        return Usage(program_, verb,
                     fmt::format("'{}' takes one {}; '{}' is too many", Called(program_, verb), option.names,
                                 bound.texts[1]));
      }
    } else if (!option.IsFlag() && !option.Repeats() && bound.texts.size() > 1) {
      return Usage(program_, verb, fmt::format("'{}' is given twice", option.LongName()));
    }
    return Ok();
  }

  static bool HasEmptyItem(const std::string& list) {
    const std::vector<std::string> items = Split(list, ',');
    return std::any_of(items.begin(), items.end(), [](const std::string& item) { return item.empty(); });
  }

  /// No option means anything by an empty value: it comes from a variable that is not set, and would switch
  /// off a check or a change without a word.
  static Error Empty(const Option& option, const std::string& text) {
    const std::string name = option.LongName();
    Error error(ErrorCode::kUsage, text.empty()
                                       ? fmt::format("the value of '{}' is empty", name)
                                       : fmt::format("the list '{}' of '{}' has an empty item", text, name));
    if (!option.instead_of_empty.empty()) return std::move(error).WithHint(option.instead_of_empty);
    return std::move(error).WithHint(option.IsPositional() ? "set the shell variable that it came from"
                                                           : "set the shell variable that it came from, or "
                                                             "leave the option out");
  }

  static Result<void> CheckChoice(const Option& option, const std::string& text) {
    const auto& choices = option.choices;
    if (choices.empty() || std::find(choices.begin(), choices.end(), text) != choices.end()) return Ok();
    // One positional word stands for itself: "'clean' takes clean" would be odd.
    const bool is_word = option.IsPositional() && choices.size() == 1;
    Error error(ErrorCode::kUsage,
                is_word ? fmt::format("only '{}' can stand there, not '{}'", choices.front(), text)
                        : fmt::format("'{}' takes {}, not '{}'", option.LongName(), OneOf(choices), text));
    if (const auto nearest = NearestMatch(text, choices)) {
      return std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest));
    }
    return error;
  }

  static Result<void> Put(const Bound& bound, bool* target) {
    for (const std::string& text : bound.parsed->results()) {
      if (text != "true") {
        return Error(ErrorCode::kUsage, fmt::format("'{}' takes no value", bound.option->LongName()));
      }
    }
    *target = true;
    return Ok();
  }
  static Result<void> Put(const Bound& bound, std::string* target) {
    *target = bound.texts.front();
    return Ok();
  }
  static Result<void> Put(const Bound& bound, std::optional<std::string>* target) {
    *target = bound.texts.front();
    return Ok();
  }
  static Result<void> Put(const Bound& bound, std::vector<std::string>* target) {
    *target = bound.texts;
    return Ok();
  }
  static Result<void> Put(const Bound& bound, const Number& target) {
    const std::string& text = bound.texts.front();
    std::uint64_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = status == std::errc() && end == text.data() + text.size();
    if (whole && value >= target.least && value <= target.most) {
      *target.value = value;
      return Ok();
    }
    const bool bounded = target.most != std::numeric_limits<std::uint64_t>::max();
    return Error(ErrorCode::kUsage,
                 fmt::format("'{}' takes a whole number {}, not '{}'", bound.option->LongName(),
                             bounded ? fmt::format("from {} to {}", target.least, target.most)
                                     : fmt::format("of at least {}", target.least),
                             text));
  }

  Error Explain(const CLI::ParseError& failure) const {
    const Verb* verb = Chosen();
    // An unknown word explains the failure better than what is missing because of it.
    const std::vector<std::string> rest = app_.remaining(/*recurse=*/true);
    if (!rest.empty()) return UnknownWord(rest.front(), verb);
    // CLI11 tells which option in its text only: "--output: 1 required TEXT missing".
    const std::string text = failure.what();
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&failure) != nullptr && text.starts_with("-")) {
      const std::string name = text.substr(0, text.find_first_of(": "));
      return Error(ErrorCode::kUsage, fmt::format("'{}' needs a value", name))
          .WithHint(fmt::format("a value that begins with '-' is written '{}=VALUE'", name));
    }
    return Usage(program_, verb, ReplaceAll(text, "\n", "; "));
  }

  [[nodiscard]] Error UnknownWord(const std::string& text, const Verb* verb) const {
    const std::string word = text.substr(0, text.find('='));
    const bool is_flag = word.starts_with('-');
    const std::vector<std::string> known = KnownWords(is_flag, verb);
    Error error(ErrorCode::kUsage, fmt::format("'{}' is not a {} of '{}'", word, is_flag ? "flag" : "verb",
                                               Called(program_, verb)));
    if (const Verb* const ours = is_flag ? nullptr : VerbKnownAs(word)) {
      return std::move(error).WithHint(
          fmt::format("'{0} {1}' does that; see '{0} {1} --help'", program_.name, ours->name));
    }
    const auto nearest = word.starts_with("-") && !word.starts_with("--") ? std::optional<std::string>()
                                                                          : NearestMatch(word, known);
    if (nearest) return std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest));
    if (const std::vector<std::string> others = VerbsWith(word); is_flag && !others.empty()) {
      return std::move(error).WithHint(fmt::format("it is one of '{} {}'", program_.name, OneOf(others)));
    }
    if (!is_flag && word.find_first_of("/.") != std::string::npos) {
      return std::move(error).WithHint(fmt::format("name a verb first: '{} build {}'", program_.name, word));
    }
    return std::move(error).WithHint(fmt::format("see '{} --help'", Called(program_, verb)));
  }

  /// Flags of `verb` and those of all verbs, or the verbs' names.
  [[nodiscard]] std::vector<std::string> KnownWords(bool flags, const Verb* verb) const {
    std::vector<std::string> known;
    const auto add_names = [&known](const std::vector<Option>& options) {
      for (const Option& option : options) {
        if (option.IsPositional()) continue;
        for (std::string& name : option.Names()) known.push_back(std::move(name));
      }
    };
    if (!flags) {
      for (const Verb& candidate : program_.verbs) known.push_back(candidate.name);
      return known;
    }
    add_names(program_.common);
    if (verb != nullptr) add_names(verb->options);
    return known;
  }

  /// The verb that other programs call `word`; null if there is none.
  [[nodiscard]] const Verb* VerbKnownAs(const std::string& word) const {
    const auto found = std::find_if(program_.verbs.begin(), program_.verbs.end(), [&](const Verb& verb) {
      return std::find(verb.known_as.begin(), verb.known_as.end(), word) != verb.known_as.end();
    });
    return found == program_.verbs.end() ? nullptr : &*found;
  }

  [[nodiscard]] std::vector<std::string> VerbsWith(const std::string& flag) const {
    std::vector<std::string> names;
    for (const Verb& verb : program_.verbs) {
      const bool has = std::any_of(verb.options.begin(), verb.options.end(), [&](const Option& option) {
        const std::vector<std::string> all = option.Names();
        return std::find(all.begin(), all.end(), flag) != all.end();
      });
      if (has) names.push_back(verb.name);
    }
    return names;
  }

  const Program& program_;
  CLI::App app_;
  std::deque<Bound> bound_;  // CLI11 keeps pointers to the texts
};

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

Result<ParsedLine> ParseCommandLine(const Program& program, const std::vector<std::string>& words) {
  return LineParser(program).Run(words);
}

}  // namespace ptpkg::cli
