// Hints for words that the program doesn't know. For a verb: the verb that another program calls so, the
// nearest name, a forgotten `build` before a path. For an option: the nearest name of this verb, then other
// verbs that have exactly this option.

#include "cli/suggestions.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/process/process.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

std::vector<std::string> OptionNames(const Program& program, const Verb* verb) {
  std::vector<std::string> known = {"--help"};
  const auto add = [&known](const std::vector<Option>& options) {
    for (const Option& option : options) {
      if (option.IsPositional()) continue;
      for (std::string& name : option.Names()) known.push_back(std::move(name));
    }
  };
  // Common options are known with every verb, and before one.
  add(program.common);
  if (verb != nullptr) add(verb->options);
  return known;
}

}  // namespace

std::string CommandName(const Program& program, const Verb* verb) {
  return verb == nullptr ? program.name : fmt::format("{} {}", program.name, verb->name);
}

std::string OneOf(std::vector<std::string> words) {
  if (words.size() < 2) return Join(words, "");
  const std::string last = std::move(words.back());
  words.pop_back();
  return fmt::format("{} or {}", Join(words, ", "), last);
}

std::string DidYouMean(const std::string& text, const std::vector<std::string>& known) {
  const auto nearest = NearestMatch(text, known);
  return nearest ? fmt::format("did you mean '{}'?", *nearest) : "";
}

std::vector<std::string> VerbsWith(const Program& program, std::string_view option) {
  std::vector<std::string> names;
  for (const Verb& verb : program.verbs) {
    if (FindOption(verb.options, option) != nullptr) names.push_back(verb.name);
  }
  return names;
}

Error UnknownVerb(const Program& program, const std::string& word, const std::vector<std::string>& line) {
  Error error(ErrorCode::kUsage, fmt::format("unknown command '{}'", word));
  // The exact name in another program says more than a similar name here.
  const auto ours = std::ranges::find_if(program.verbs, [&](const Verb& verb) {
    return std::ranges::find(verb.known_as, word) != verb.known_as.end();
  });
  if (ours != program.verbs.end()) {
    const std::vector<std::string> known = OptionNames(program, &*ours);
    // The whole command is suggested only if it would be accepted: all of its options exist here as well.
    const bool fits = std::ranges::all_of(line, [&](const std::string& one) {
      return !one.starts_with('-') || std::ranges::find(known, one.substr(0, one.find('='))) != known.end();
    });
    const bool has_options =
        std::ranges::any_of(line, [](const std::string& one) { return one.starts_with('-'); });
    if (fits && has_options) {
      std::vector<std::string> command = line;
      // The first one only: a path behind the verb can have the same name.
      const auto verb = std::ranges::find(command, word);
      if (verb != command.end()) *verb = ours->name;
      command.insert(command.begin(), program.name);
      return std::move(error).WithHint("run: " + ShellQuote(command));
    }
    return std::move(error).WithHint(
        fmt::format("did you mean '{0}'? see '{1} {0} --help'", ours->name, program.name));
  }
  std::vector<std::string> names;
  for (const Verb& verb : program.verbs) names.push_back(verb.name);
  if (const std::string hint = DidYouMean(word, names); !hint.empty()) return std::move(error).WithHint(hint);
  // A path in place of a verb.
  if (word.find_first_of("/.") != std::string::npos) {
    return std::move(error).WithHint(fmt::format("name a command first: '{} build {}'", program.name, word));
  }
  return std::move(error).WithHint(fmt::format("see '{} --help'", program.name));
}

Error UnknownOption(const Program& program, const Verb* verb, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const std::string command = CommandName(program, verb);
  Error error(ErrorCode::kUsage, fmt::format("'{}' has no option '{}'", command, name));
  if (name.starts_with("--")) {  // one letter is near to any other
    const std::string hint = DidYouMean(name, OptionNames(program, verb));
    if (!hint.empty()) return std::move(error).WithHint(hint);
  }
  if (const std::vector<std::string> others = VerbsWith(program, name); !others.empty()) {
    return std::move(error).WithHint(fmt::format("'{} {}' has it", program.name, OneOf(others)));
  }
  return std::move(error).WithHint(fmt::format("see '{} --help'", command));
}

}  // namespace ptpkg::cli
