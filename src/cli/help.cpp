#include "cli/help.h"

#include <algorithm>
#include <fmt/core.h>

#include "cli/output/text_layout.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

constexpr std::size_t kTextColumn = 26;
constexpr std::size_t kMostChoicesInHead = 24;  // characters: auto|terminal|plain|json

bool ShowsChoices(const Option& option) {
  return !option.choices.empty() && Join(option.choices, "|").size() <= kMostChoicesInHead;
}

/// "  head     text", the text in a column of its own.
std::string Entry(std::string_view head, std::string_view text, std::size_t width) {
  std::string line = fmt::format("  {}", head);
  if (line.size() + 2 > kTextColumn) {
    line += "\n" + std::string(kTextColumn, ' ');
  } else {
    line.resize(kTextColumn, ' ');
  }
  return line + WrapWords(text, {.width = width, .indent = kTextColumn, .already = kTextColumn}) + "\n";
}

std::string Options(const std::vector<Option>& options, bool positional, const std::string& group,
                    std::size_t width) {
  std::string text;
  for (const Option& option : options) {
    if (option.IsPositional() != positional || option.group != group) continue;
    text += Entry(OptionHead(option), OptionText(option), width);
  }
  return text;
}

std::vector<std::string> Groups(const std::vector<Option>& options) {
  std::vector<std::string> groups;
  for (const Option& option : options) {
    const bool known = std::find(groups.begin(), groups.end(), option.group) != groups.end();
    if (!option.group.empty() && !known) groups.push_back(option.group);
  }
  return groups;
}

std::string Examples(const std::vector<std::string>& examples) {
  std::string text = examples.size() == 1 ? "\nExample:\n" : "\nExamples:\n";
  for (const std::string& example : examples) text += fmt::format("  {}\n", example);
  return examples.empty() ? "" : text;
}

std::string CommonNames(const Program& program) {
  std::vector<std::string> names;
  for (const Option& option : program.common) names.push_back(option.LongName());
  return Join(names, ", ");
}

}  // namespace

std::string OptionHead(const Option& option) {
  if (option.IsPositional()) return option.Repeats() ? option.names + "..." : option.names;
  std::string names = Join(option.Names(), ", ");
  if (option.IsFlag()) return names;
  return fmt::format("{} {}", names, ShowsChoices(option) ? Join(option.choices, "|") : option.value);
}

std::string OptionText(const Option& option) {
  if (option.choices.empty() || ShowsChoices(option)) return option.help;
  return fmt::format("{}. One of: {}", option.help, Join(option.choices, ", "));
}

std::string UsageLine(const Program& program, const Verb* verb) {
  if (verb == nullptr) return fmt::format("{} VERB [OPTIONS] ...", program.name);
  std::string line = fmt::format("{} {} [OPTIONS]", program.name, verb->name);
  for (const Option& option : verb->options) {
    if (!option.IsPositional()) continue;
    line += option.MayBeMissing() ? fmt::format(" [{}]", OptionHead(option)) : " " + OptionHead(option);
  }
  return line;
}

std::string HelpText(const Program& program, const Verb* verb, std::size_t width) {
  std::string text = WrapWords(verb == nullptr ? program.summary : verb->summary, {.width = width});
  text += fmt::format("\n\nUsage: {}\n", UsageLine(program, verb));
  const std::vector<Option>& options = verb == nullptr ? program.common : verb->options;
  if (verb == nullptr) {
    text += "\nVerbs:\n";
    for (const Verb& each : program.verbs) text += Entry(each.name, each.summary, width);
  } else if (const std::string arguments = Options(options, true, "", width); !arguments.empty()) {
    text += "\nArguments:\n" + arguments;
  }
  for (const std::string& group : Groups(options)) {
    text += fmt::format("\n{}:\n{}", group, Options(options, false, group, width));
  }
  text += fmt::format("\n{}:\n{}{}", verb == nullptr ? "Options, before or after the verb" : "Options",
                      Options(options, false, "", width), Entry("-h, --help", "Print this help", width));
  if (verb != nullptr) {
    if (!verb->notes.empty()) text += "\n" + verb->notes + "\n";
    text +=
        "\n" +
        WrapWords(fmt::format("Options of every verb: {}; see {} --help", CommonNames(program), program.name),
                  {.width = width}) +
        "\n";
  }
  text += Examples(verb == nullptr ? program.examples : verb->examples);
  text.pop_back();
  return text;
}

}  // namespace ptpkg::cli
