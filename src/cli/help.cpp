#include "cli/help.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/core.h>

#include "cli/help_formatter.h"
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
std::string Entry(std::string_view head, std::string_view text, std::size_t width, std::size_t column) {
  std::string line = fmt::format("  {}", head);
  // A long head has a line of its own, so that the texts stay in one column.
  if (line.size() + 2 > column) {
    line += "\n" + std::string(column, ' ');
  } else {
    line.resize(column, ' ');
  }
  return line + WrapWords(text, {.width = width, .indent = column, .already = column}) + "\n";
}

/// CLI11 calls a make_… function for each part of a page. Ours break lines between words for any width, keep
/// texts in a column, and use the words of the docs: arguments and commands.
class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::size_t width) : width_(width) {
    label("Positionals", "Arguments");
    label("SUBCOMMAND", "COMMAND");
  }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    const std::string page = make_description(app) + make_usage(app, std::move(name)) +
                             make_subcommands(app, mode) + make_positionals(app) + make_groups(app, mode) +
                             "\n" + app->get_footer();
    // Parts that a verb lacks leave blank lines of their own.
    return ReplaceAll(page, "\n\n\n", "\n\n");
  }
  std::string make_description(const CLI::App* app) const override {
    return WrapWords(app->get_description(), {.width = width_}) + "\n\n";
  }
  std::string make_subcommand(const CLI::App* sub) const override {
    constexpr std::size_t kNameColumn = 14;
    return Entry(sub->get_name(), sub->get_description(), width_, kNameColumn);
  }
  std::string make_option(const CLI::Option* option, bool /*is_positional*/) const override {
    // CLI11 adds --help by itself, so it lacks the text that Bind() gives to all other options.
    const std::string& head = option->get_option_text();
    return Entry(head.empty() ? "-h, --help" : head, option->get_description(), width_, kTextColumn);
  }
  std::string make_option_usage(const CLI::Option* option) const override {
    return option->get_required() ? option->get_option_text()
                                  : fmt::format("[{}]", option->get_option_text());
  }

 private:
  std::size_t width_;
};

/// Paragraphs are filled; a row "  name   text" keeps its columns.
std::string Notes(const std::string& notes, std::size_t width) {
  std::string text;
  std::string paragraph;
  const auto flush = [&] {
    if (!paragraph.empty()) text += WrapWords(paragraph, {.width = width}) + "\n";
    paragraph.clear();
  };
  for (const std::string& line : SplitLines(notes)) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == 0) {
      paragraph += (paragraph.empty() ? "" : " ") + line;
      if (line.ends_with(':')) flush();  // in front of rows
      continue;
    }
    flush();
    const std::size_t gap = begin == std::string::npos ? begin : line.find("  ", begin);
    if (gap == std::string::npos) {
      text += line + "\n";
      continue;
    }
    const std::size_t column = line.find_first_not_of(' ', gap);
    text += Entry(line.substr(begin, gap - begin), line.substr(column), width, column);
  }
  flush();
  return text;
}

/// Names alone: the page of the program describes these options, and each page of a verb stays short.
std::string CommonNames(const Program& program) {
  std::vector<std::string> names;
  for (const Option& option : program.common) names.push_back(option.LongName());
  return Join(names, ", ");
}

std::string Examples(const std::vector<std::string>& examples) {
  if (examples.empty()) return "";
  std::string text = examples.size() == 1 ? "Example:\n" : "Examples:\n";
  for (const std::string& example : examples) text += fmt::format("  {}\n", example);
  return text;
}

}  // namespace

// CLI11 shares it among the program and its verbs.
std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter(std::size_t width) {
  return std::make_shared<HelpFormatter>(width);  // see above
}

std::string OptionHead(const Option& option) {
  if (option.IsPositional()) return option.Repeats() ? option.names + "..." : option.names;
  std::string names = Join(option.Names(), ", ");
  if (option.IsFlag()) return names;
  return fmt::format("{} {}", names, ShowsChoices(option) ? Join(option.choices, "|") : option.value);
}

std::string OptionText(const Option& option) {
  std::string text = option.help;
  if (!option.choices.empty() && !ShowsChoices(option))
    text += fmt::format(" [one of: {}]", Join(option.choices, ", "));
  if (!option.default_text.empty()) text += fmt::format(" [default: {}]", option.default_text);
  if (!option.env.empty()) text += fmt::format(" [env: {}]", option.env);
  return text;
}

std::string UsageLine(const Program& program, const Verb* verb) {
  if (verb == nullptr) return fmt::format("{} [OPTIONS] [COMMAND]", program.name);
  std::string line = fmt::format("{} {} [OPTIONS]", program.name, verb->name);
  for (const Option& option : verb->options) {
    if (!option.IsPositional()) continue;
    line += option.MayBeMissing() ? fmt::format(" [{}]", OptionHead(option)) : " " + OptionHead(option);
  }
  return line;
}

std::string HelpFooter(const Program& program, const Verb* verb, std::size_t width) {
  if (verb == nullptr) return Examples(program.examples);
  std::string text = verb->notes.empty() ? "" : Notes(verb->notes, width) + "\n";
  text += WrapWords(
      fmt::format("Options of every command: {}; see '{} --help'.", CommonNames(program), program.name),
      {.width = width});
  return text + "\n\n" + Examples(verb->examples);
}

std::string HelpText(const Program& program, const Verb* verb, std::size_t width) {
  // The parser writes the page, so 'ptpkg help build' and 'ptpkg build --help' are the same. It binds the
  // options of a verb only if a line names that verb.
  std::vector<std::string> words = {"--help"};
  if (verb != nullptr) words.insert(words.begin(), verb->name);
  const auto parsed = ParseCommandLine(program, words, {.help_width = width});
  return parsed && parsed->help ? *parsed->help : "";
}

}  // namespace ptpkg::cli
