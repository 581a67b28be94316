#include "cli/help.h"

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
                             {.names = "--mode", .help = "How", .target = &text, .choices = {"a", "b"}},
                             {.names = "--a-rather-long-option",
                              .value = "NAME",
                              .help = "Words that do not fit on one line",
                              .target = &text,
                              .choices = {"a-first-long-choice", "a-second-long-choice"}},
                             {.names = "--one", .help = "This", .target = &flag, .group = "One of"}},
                 .notes = "A note.",
                 .examples = {"tool build x"},
                 .run = {}}},
      .examples = {}};
  EXPECT_EQ(HelpText(program, &program.verbs[0], 60), R"(Build it

Usage: tool build [OPTIONS] FILE... [WORD]

Arguments:
  FILE...                 What
  WORD                    Which

One of:
  --one                   This

Options:
  --mode a|b              How
  --a-rather-long-option NAME
                          Words that do not fit on one line.
                          One of: a-first-long-choice,
                          a-second-long-choice
  -h, --help              Print this help

A note.

Options of every verb: --quiet; see tool --help

Example:
  tool build x)");
  EXPECT_THAT(HelpText(program, nullptr, 60),
              testing::HasSubstr("\nVerbs:\n  build                   Build it\n"));
}

/// Every page of the real program fits the narrowest width that is promised.
TEST(Help, NoLineOfTheProgramIsWiderThanAsked) {
  CommonFlags flags;
  const Program program = MakeProgram(flags);
  std::vector<const Verb*> verbs = {nullptr};
  for (const Verb& verb : program.verbs) verbs.push_back(&verb);
  for (const Verb* verb : verbs) {
    for (const std::string& line : SplitLines(HelpText(program, verb, 80))) {
      EXPECT_LE(DisplayWidth(line), 80U) << line;
    }
  }
}

}  // namespace
}  // namespace ptpkg::cli
