#include "cli/command_line.h"

#include <gmock/gmock.h>

#include "support/matchers.h"

namespace ptpkg::cli {
namespace {

using test::FailsWith;
using test::HasHint;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// A program with one option of each kind.
class CommandLine : public testing::Test {
 protected:
  CommandLine()
      : program_{
            .name = "tool",
            .summary = "Does things",
            .common = {{.names = "-q,--quiet", .help = "Less", .target = &quiet_},
                       {.names = "--color",
                        .help = "Colours",
                        .target = &color_,
                        .choices = {"auto", "always", "never"}}},
            .verbs =
                {{.name = "build",
                  .summary = "Builds",
                  .options = {{.names = "RECIPE", .help = "a recipe", .target = &recipes_},
                              {.names = "--select", .value = "K=V", .help = "Only", .target = &select_},
                              {.names = "-o,--output", .value = "DIR", .help = "Where", .target = &output_},
                              {.names = "--set", .value = "PATH", .help = "This", .target = &set_},
                              {.names = "--jobs",
                               .value = "NUMBER",
                               .help = "Threads",
                               .target = Number{.value = &jobs_, .least = 1, .most = 8}},
                              {.names = "--tag", .help = "With --set", .target = &tag_, .needs = "--set"}},
                  .examples = {},
                  .run = {}},
                 {.name = "index",
                  .summary = "Indexes",
                  .known_as = {"catalogue"},
                  .options = {{.names = "DIR", .help = "a folder", .target = &folder_},
                              {.names = "--layout", .value = "NAME", .help = "L", .target = &layout_}},
                  .examples = {},
                  .run = {}},
                 {.name = "man",
                  .summary = "Manual",
                  .options = {{.names = "VERB", .help = "a verb", .target = &set_}},
                  .examples = {},
                  .run = {}}},
            .examples = {}} {}

  Result<ParsedLine> Parse(const std::vector<std::string>& words) {
    return ParseCommandLine(program_, words);
  }

  bool quiet_ = false;
  bool tag_ = false;
  std::string color_ = "auto";
  std::string output_ = "dist";
  std::string folder_;
  std::string layout_;
  std::optional<std::string> set_;
  std::vector<std::string> recipes_;
  std::vector<std::string> select_;
  std::uint64_t jobs_ = 0;
  Program program_;
};

TEST_F(CommandLine, PutsEachValueInItsPlace) {
  const auto parsed = Parse({"-q", "build", "--select", "a=1", "x", "--select=b=2", "[y,z]", "-o", "out",
                             "--color", "never", "--jobs", "8", "--set=[y]"});
  ASSERT_TRUE(parsed) << parsed.error().message();
  ASSERT_NE(parsed->verb, nullptr);
  EXPECT_EQ(parsed->verb->name, "build");
  EXPECT_FALSE(parsed->help);
  EXPECT_THAT(recipes_, ElementsAre("x", "[y,z]")) << "a bracket is a character of a file name";
  EXPECT_THAT(select_, ElementsAre("a=1", "b=2"));
  EXPECT_EQ(output_, "out");
  EXPECT_EQ(color_, "never");
  EXPECT_EQ(jobs_, 8U);
  EXPECT_EQ(set_, "[y]");
  EXPECT_TRUE(quiet_);
}

TEST_F(CommandLine, AnEqualsSignBelongsToNoValue) {
  ASSERT_TRUE(Parse({"build", "x", "-o=out"}));
  EXPECT_EQ(output_, "out");
  ASSERT_TRUE(Parse({"build", "--select==", "--", "-o=out", "--set="}));
  EXPECT_THAT(select_, ElementsAre("="));
  EXPECT_THAT(recipes_, ElementsAre("-o=out", "--set=")) << "no option behind '--'";
}

TEST_F(CommandLine, AnEmptyValueIsNotTheNextWord) {
  for (const char* option : {"--set=", "--select=", "-o=", "--jobs=", "--color="}) {
    EXPECT_THAT(Parse({"build", option, "x", "y"}), FailsWith(ErrorCode::kUsage, HasSubstr("is empty")))
        << option;
  }
  EXPECT_THAT(Parse({"build", "x", "--set", ""}),
              FailsWith(ErrorCode::kUsage, "the value of '--set' is empty"));
  EXPECT_THAT(Parse({"build", "", "y"}), FailsWith(ErrorCode::kUsage, "the value of 'RECIPE' is empty"));
}

TEST_F(CommandLine, HelpComesBeforeComplaints) {
  const auto parsed = Parse({"build", "--color", "alwys", "--help", "--bogus"});
  ASSERT_TRUE(parsed);
  ASSERT_TRUE(parsed->help);
  EXPECT_THAT(*parsed->help, HasSubstr("Usage: tool build [OPTIONS] RECIPE..."));
}

/// What files would say.
SettingsOf Says(std::vector<Setting> settings) {
  return [settings = std::move(settings)](const Verb&, const std::vector<std::string>&) { return settings; };
}

TEST_F(CommandLine, SettingsFillWhatTheLineLeavesOut) {
  const SettingsOf settings = Says({{.option = "--output", .values = {"of-file"}},
                                    {.option = "--jobs", .values = {"3"}},
                                    {.option = "--quiet", .values = {"true"}},
                                    {.option = "--select", .values = {"a=1", "[b=2]"}},
                                    {.option = "--color", .values = {"never"}}});
  const auto parsed = ParseCommandLine(program_, {"build", "x", "-o", "of-line"}, {.settings = settings});
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(output_, "of-line");
  EXPECT_EQ(jobs_, 3U);
  EXPECT_TRUE(quiet_);
  EXPECT_EQ(color_, "never");
  EXPECT_THAT(select_, ElementsAre("a=1", "[b=2]"));
}

TEST_F(CommandLine, ASettingThatIsFalseOrNeedsAnotherChangesNothing) {
  const SettingsOf settings =
      Says({{.option = "--quiet", .values = {"false"}}, {.option = "--tag", .values = {"true"}}});
  ASSERT_TRUE(ParseCommandLine(program_, {"build", "x"}, {.settings = settings}));
  EXPECT_FALSE(quiet_);
  EXPECT_FALSE(tag_);
  ASSERT_TRUE(ParseCommandLine(program_, {"build", "x", "--set", "y"}, {.settings = settings}));
  EXPECT_TRUE(tag_);
}

TEST_F(CommandLine, ASettingCanFulfilWhatAnOptionNeeds) {
  const SettingsOf settings = Says({{.option = "--set", .values = {"y"}}});
  ASSERT_TRUE(ParseCommandLine(program_, {"build", "x", "--tag"}, {.settings = settings}));
  EXPECT_EQ(set_, "y");
  EXPECT_THAT(ParseCommandLine(program_, {"build", "--tag"}, {.settings = settings}),
              FailsWith(ErrorCode::kUsage, "'tool build' needs RECIPE: a recipe"));
}

TEST_F(CommandLine, SettingsAreAskedWithTheArgumentsOfTheVerb) {
  std::vector<std::string> seen;
  const SettingsOf settings = [&](const Verb& verb, const std::vector<std::string>& words) {
    seen = words;
    seen.push_back(verb.name);
    return Result<std::vector<Setting>>(Error(ErrorCode::kUsage, "bad file"));
  };
  EXPECT_THAT(ParseCommandLine(program_, {"build", "x", "y", "-q"}, {.settings = settings}),
              FailsWith(ErrorCode::kUsage, "bad file"));
  EXPECT_THAT(seen, ElementsAre("x", "y", "build"));
}

TEST_F(CommandLine, OnlyOptionsOfTheLineAreGiven) {
  std::set<std::string> given;
  program_.verbs[0].given = &given;
  const SettingsOf settings = Says({{.option = "--jobs", .values = {"3"}}});
  ASSERT_TRUE(ParseCommandLine(program_, {"build", "x", "-o", "y"}, {.settings = settings}));
  EXPECT_THAT(given, ElementsAre("--output", "RECIPE"));
}

TEST_F(CommandLine, NamesOfOtherProgramsLeadToTheVerb) {
  EXPECT_THAT(Parse({"catalogue", "x"}), AllOf(FailsWith(ErrorCode::kUsage, "unknown command 'catalogue'"),
                                               HasHint("did you mean 'index'? see 'tool index --help'")));
  EXPECT_THAT(Parse({"catalogue", "-q", "x y"}), HasHint("run: tool index -q 'x y'"));
  EXPECT_THAT(Parse({"catalogue", "--unknown", "x"}),
              HasHint("did you mean 'index'? see 'tool index --help'"));
}

TEST_F(CommandLine, WordsBehindTwoDashesAreNoOptions) {
  ASSERT_TRUE(Parse({"build", "--", "-q", "--select"}));
  EXPECT_THAT(recipes_, ElementsAre("-q", "--select"));
  EXPECT_FALSE(quiet_);
}

TEST_F(CommandLine, AFolderNamedLikeAVerbIsAnArgument) {
  const auto parsed = Parse({"build", "index"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->verb->name, "build");
  EXPECT_THAT(recipes_, ElementsAre("index"));
}

TEST_F(CommandLine, NoVerbAndHelpAreTold) {
  EXPECT_EQ(Parse({})->verb, nullptr);
  EXPECT_TRUE(Parse({"-h"})->help);
  const auto parsed = Parse({"index", "--help"});
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->help);
  EXPECT_EQ(parsed->verb->name, "index") << "without its DIR";
}

TEST_F(CommandLine, AnOptionalArgumentMayBeMissing) {
  ASSERT_TRUE(Parse({"man"}));
  EXPECT_EQ(set_, std::nullopt);
  ASSERT_TRUE(Parse({"man", "build"}));
  EXPECT_EQ(set_, "build");
}

TEST_F(CommandLine, UnknownVerbsGetTheNearest) {
  EXPECT_THAT(Parse({"biuld", "x"}), AllOf(FailsWith(ErrorCode::kUsage, "unknown command 'biuld'"),
                                           HasHint("did you mean 'build'?")));
  EXPECT_THAT(Parse({"frobnicate"}), HasHint("see 'tool --help'"));
  EXPECT_THAT(Parse({"fixtures/toy"}), HasHint("name a command first: 'tool build fixtures/toy'"));
}

TEST_F(CommandLine, UnknownFlagsGetTheNearestOrTheVerbThatHasThem) {
  EXPECT_THAT(Parse({"build", "x", "--ouptut=y"}),
              AllOf(FailsWith(ErrorCode::kUsage, "'tool build' has no option '--ouptut'"),
                    HasHint("did you mean '--output'?")));
  EXPECT_THAT(Parse({"build", "--colour", "never"}), HasHint("did you mean '--color'?"));
  EXPECT_THAT(Parse({"build", "x", "--layout", "y"}), HasHint("'tool index' has it"));
  EXPECT_THAT(Parse({"build", "x", "-z"}), HasHint("see 'tool build --help'"));
}

TEST_F(CommandLine, MissingAndSuperfluousWordsAreNamed) {
  EXPECT_THAT(Parse({"build"}), AllOf(FailsWith(ErrorCode::kUsage, "'tool build' needs RECIPE: a recipe"),
                                      HasHint("see 'tool build --help'")));
  EXPECT_THAT(Parse({"index", "a", "b"}),
              FailsWith(ErrorCode::kUsage, "'tool index' takes one DIR; 'b' is too many"));
  EXPECT_THAT(
      Parse({"build", "x", "--output"}),
      AllOf(FailsWith(ErrorCode::kUsage, "'--output' needs a value"), HasHint(HasSubstr("--output=VALUE"))));
  EXPECT_THAT(Parse({"build", "x", "-o", "a", "--output", "b"}),
              FailsWith(ErrorCode::kUsage, "'--output' is given twice"));
  EXPECT_THAT(Parse({"build", "x", "--tag"}), FailsWith(ErrorCode::kUsage, "'--tag' needs '--set' too"));
}

TEST_F(CommandLine, BadValuesAreNamed) {
  EXPECT_THAT(Parse({"build", "x", "--color", "alwys"}),
              AllOf(FailsWith(ErrorCode::kUsage, "'--color' takes auto, always or never, not 'alwys'"),
                    HasHint("did you mean 'always'?")));
  for (const char* bad : {"0", "9", "many", "-1", "1.5", "99999999999999999999"}) {
    EXPECT_THAT(Parse({"build", "x", std::string("--jobs=") + bad}),
                FailsWith(ErrorCode::kUsage, HasSubstr("a whole number from 1 to 8")))
        << bad;
  }
  EXPECT_THAT(Parse({"build", "x", "--quiet=no"}), FailsWith(ErrorCode::kUsage, "'--quiet' takes no value"));
}

TEST_F(CommandLine, AFlagGivenTwiceIsNoError) {
  ASSERT_TRUE(Parse({"-q", "build", "x", "-q"}));
  EXPECT_TRUE(quiet_);
}

}  // namespace
}  // namespace ptpkg::cli
