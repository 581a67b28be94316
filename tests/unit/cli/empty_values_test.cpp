// No option of any verb takes the next word for its value, or an empty value for one.

#include <gmock/gmock.h>

#include "cli/verbs/verbs.h"
#include "support/matchers.h"

namespace ptpkg::cli {
namespace {

using test::FailsWith;
using testing::AnyOf;
using testing::HasSubstr;

/// Parses faster than the whole.
Program WithOnly(const Program& program, const Verb& verb) {
  Program alone = program;
  alone.verbs = {verb};
  return alone;
}

/// The words of a line that `verb` takes.
std::vector<std::string> LineOf(const Verb& verb) {
  std::vector<std::string> words = {verb.name};
  for (const Option& option : verb.options) {
    if (!option.IsPositional() || option.MayBeMissing()) continue;
    words.push_back(option.choices.empty() ? "word" : option.choices.front());
  }
  return words;
}

/// The lines in which `option` has the value `value`, in front of other words and behind them.
std::vector<std::vector<std::string>> LinesWith(const std::vector<std::string>& line, const Option& option,
                                                const std::string& value) {
  std::vector<std::vector<std::string>> lines;
  for (const std::string& name : option.Names()) {
    for (const std::vector<std::string>& words :
         {std::vector{name + "=" + value}, std::vector{name, value}}) {
      if (option.IsFlag() && words.size() > 1) continue;
      std::vector<std::string> front = line;
      front.insert(front.begin() + 1, words.begin(), words.end());
      std::vector<std::string> back = line;
      back.insert(back.end(), words.begin(), words.end());
      lines.insert(lines.end(), {front, back});
    }
  }
  return lines;
}

std::vector<Option> OptionsOf(const Program& program, const Verb& verb) {
  std::vector<Option> options = verb.options;
  options.insert(options.end(), program.common.begin(), program.common.end());
  return options;
}

TEST(EmptyValues, AreRefusedByEveryOptionOfEveryVerb) {
  CommonFlags flags;
  const Program program = MakeProgram(flags);
  for (const Verb& verb : program.verbs) {
    const Program alone = WithOnly(program, verb);
    const std::vector<std::string> line = LineOf(verb);
    EXPECT_TRUE(ParseCommandLine(alone, line)) << testing::PrintToString(line);
    for (const Option& option : OptionsOf(program, verb)) {
      if (option.IsPositional()) continue;
      for (const std::vector<std::string>& words : LinesWith(line, option, "")) {
        EXPECT_THAT(ParseCommandLine(alone, words),
                    FailsWith(ErrorCode::kUsage,
                              AnyOf("'" + option.LongName() + "' takes no value",
                                    "the value of '" + option.LongName() + "' is empty",
                                    "'" + option.LongName() + "' needs '" + option.needs + "' too")))
            << testing::PrintToString(words);
      }
    }
  }
}

TEST(EmptyValues, OfAnOptionThatNeedsAnotherAreRefusedBesideIt) {
  CommonFlags flags;
  const Program program = MakeProgram(flags);
  for (const Verb& verb : program.verbs) {
    for (const Option& option : verb.options) {
      if (option.needs.empty() || option.IsFlag()) continue;
      std::vector<std::string> line = LineOf(verb);
      for (const Option& needed : verb.options) {
        if (needed.LongName() == option.needs) {
          line.push_back(needed.IsFlag() ? option.needs : option.needs + "=x");
        }
      }
      for (const std::vector<std::string>& words : LinesWith(line, option, "")) {
        EXPECT_THAT(ParseCommandLine(WithOnly(program, verb), words),
                    FailsWith(ErrorCode::kUsage, "the value of '" + option.LongName() + "' is empty"))
            << testing::PrintToString(words);
      }
    }
  }
}

TEST(EmptyValues, AreRefusedAsArgumentsAndAsItemsOfLists) {
  CommonFlags flags;
  const Program program = MakeProgram(flags);
  for (const Verb& verb : program.verbs) {
    const Program alone = WithOnly(program, verb);
    const std::vector<std::string> line = LineOf(verb);
    for (std::size_t i = 1; i < line.size(); ++i) {
      std::vector<std::string> words = line;
      words[i] = "";
      EXPECT_THAT(ParseCommandLine(alone, words), FailsWith(ErrorCode::kUsage, HasSubstr("is empty")))
          << testing::PrintToString(words);
    }
    for (const Option& option : verb.options) {
      if (option.value != "LIST") continue;
      for (const char* list : {",", "a,", ",a", "a,,b"}) {
        std::vector<std::string> words = line;
        words.push_back(option.LongName() + "=" + list);
        EXPECT_THAT(ParseCommandLine(alone, words),
                    FailsWith(ErrorCode::kUsage, HasSubstr("'" + option.LongName() + "' has an empty item")));
      }
    }
  }
}

TEST(EmptyValues, SayHowToRemoveWhatAnEmptyTextCannot) {
  CommonFlags flags;
  const Program program = MakeProgram(flags);
  const auto parse = [&](const std::vector<std::string>& words) { return ParseCommandLine(program, words); };
  EXPECT_THAT(parse({"retag", "x.whl", "--local", ""}),
              test::HasHint("'--no-local' removes the local segment"));
  EXPECT_THAT(parse({"retag", "x.whl", "--build="}), test::HasHint("'--no-build' removes the build tag"));
  EXPECT_THAT(parse({"relink", "x.so", "--set-rpath="}), test::HasHint("'--remove-rpath' removes the path"));
}

}  // namespace
}  // namespace ptpkg::cli
