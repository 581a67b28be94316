#include "cli/help.h"

#include <cctype>
#include <gmock/gmock.h>

#include "cli/output/text_layout.h"
#include "cli/verbs/verbs.h"
#include "support/text/text.h"

namespace ptpkg::cli {
namespace {

TEST(Help, ShowsArgumentsOptionsGroupsNotesAndExamples) {
  bool flag = false;
  std::string text;
  std::vector<std::string> files;
  std::optional<std::string> word;
  const Program program = {
      .name = "tool",
      .summary = "Does things.",
      .common = {{.names = "-q,--quiet", .help = "Less", .target = &flag}},
      .verbs = {{.name = "build",
                 .summary = "Build it",
                 .options = {{.names = "FILE", .help = "What", .target = &files},
                             {.names = "WORD", .help = "Which", .target = &word},
                             {.names = "--mode",
                              .help = "How",
                              .target = &text,
                              .choices = {"a", "b"},
                              .default_text = "a",
                              .env = "TOOL_MODE"},
                             {.names = "--a-rather-long-option",
                              .value = "NAME",
                              .help = "Words that do not fit on one line",
                              .target = &text,
                              .choices = {"a-first-long-choice", "a-second-long-choice"}},
                             {.names = "--one", .help = "This", .target = &flag, .group = "One of"}},
                 .notes =
                     "A note that is longer than\nthe sixty columns which the page has.\n\nRows:\n"
                     "  first    The text of a row that does not fit on one line either\n  second   Short",
                 .examples = {"tool build x"},
                 .run = {}}},
      .examples = {}};
  EXPECT_EQ(HelpText(program, &program.verbs[0], 60), R"(Build it

Usage: tool build [OPTIONS] FILE... [WORD]

Arguments:
  FILE...                 What
  WORD                    Which

Options:
  -h, --help              Print this help
  --mode a|b              How [default: a] [env: TOOL_MODE]
  --a-rather-long-option NAME
                          Words that do not fit on one line
                          [one of: a-first-long-choice,
                          a-second-long-choice]

One of:
  --one                   This

A note that is longer than the sixty columns which the page
has.

Rows:
  first    The text of a row that does not fit on one line
           either
  second   Short

Options of every command: --quiet; see 'tool --help'.

Example:
  tool build x)");
  EXPECT_EQ(HelpText(program, nullptr, 60), R"(Does things.

Usage: tool [OPTIONS] [COMMAND]

Commands:
  build       Build it

Options:
  -h, --help              Print this help
  -q, --quiet             Less)");
}

/// Every page of the real program fits narrow terminals; commands to copy are not broken.
TEST(Help, NoLineOfTheProgramIsWiderThanAsked) {
  CommonFlags flags;
  const Program program = MakeProgram(flags);
  std::vector<const Verb*> verbs = {nullptr};
  for (const Verb& verb : program.verbs) verbs.push_back(&verb);
  for (const std::size_t width : {56U, 80U}) {
    for (const Verb* verb : verbs) {
      for (const std::string& line : SplitLines(HelpText(program, verb, width))) {
        const bool to_copy = width < 80 && (line.starts_with("  ptpkg ") || line.starts_with("Usage: "));
        EXPECT_LE(to_copy ? 0U : DisplayWidth(line), width) << line;
      }
    }
  }
}

/// Help that is read at a glance, and an example for each verb.
TEST(Help, OptionsOfTheProgramAreShortPhrases) {
  CommonFlags flags;
  const Program program = MakeProgram(flags);
  const auto check = [](const std::vector<Option>& options) {
    for (const Option& option : options) {
      EXPECT_LE(DisplayWidth(option.help), 60U) << option.help;
      EXPECT_FALSE(option.help.ends_with('.')) << option.help;
      EXPECT_TRUE(std::isupper(static_cast<unsigned char>(option.help.front())) || option.IsPositional())
          << option.help;
      EXPECT_EQ(option.help.find("(default"), std::string::npos) << option.help;
    }
  };
  check(program.common);
  for (const Verb& verb : program.verbs) {
    check(verb.options);
    EXPECT_LE(DisplayWidth(verb.summary), 64U) << verb.summary;
    EXPECT_FALSE(verb.examples.empty()) << verb.name;
  }
}

}  // namespace
}  // namespace ptpkg::cli
