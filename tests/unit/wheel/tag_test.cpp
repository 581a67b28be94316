#include "wheel/tag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_process.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::wheel {
namespace {

using test::FailsWith;
using test::FakeProcess;
using test::IsOkAndHolds;
using test::TestEnv;
using testing::ElementsAre;
using testing::HasSubstr;

const AbsPath kPython = AbsPath::Literal("/opt/python");

std::string Answer(std::string_view changes = "") {
  std::string text =
      R"({"implementation": "cpython", "major": 3, "minor": 14, "free_threaded": 0, "debug": 0, "wide": 1, )"
      R"("platform": "linux-x86_64"})";
  if (!changes.empty()) text = changes;
  return "warning: something\nptpkg-interpreter:" + text + "\n";
}

TEST(ParseTag, TakesSetsAndSortsThem) {
  EXPECT_THAT(ParseTag("py3.py2-none-b.a.a"), IsOkAndHolds(Tag{"py3.py2", "none", "b.a.a"}));
  EXPECT_EQ(SortTag({"py3.py2", "none", "b.a.a"}).str(), "py2.py3-none-a.b");
  EXPECT_THAT(ExpandTag({"py3.py2", "none", "b.a"}),
              ElementsAre(Tag{"py2", "none", "a"}, Tag{"py2", "none", "b"}, Tag{"py3", "none", "a"},
                          Tag{"py3", "none", "b"}));
}

TEST(ParseTag, RefusesOtherForms) {
  for (const char* const text :
       {"", "py3", "py3-none", "py3-none-any-x", "py3--any", "py3-no/ne-any", "py3.-none-any"}) {
    EXPECT_THAT(ParseTag(text), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a compatibility tag")))
        << text;
  }
}

TEST(InterpreterTag, AsksTheInterpreterInIsolation) {
  FakeProcess process;
  process.Answer("python", 0, Answer());
  TestEnv env({.process = &process});
  env->variables = {{"PATH", "/bin"}, {"PYTHONPATH", "/evil"}};
  EXPECT_THAT(InterpreterTag(env, kPython), IsOkAndHolds(Tag{"cp314", "cp314", "linux_x86_64"}));
  ASSERT_EQ(process.commands().size(), 1U);
  const Command& command = process.commands()[0];
  EXPECT_EQ(command.argv[0], "/opt/python");
  EXPECT_EQ(command.argv[1], "-I");
  EXPECT_EQ(command.env, (std::map<std::string, std::string>{{"PATH", "/bin"}}));
}

TEST(InterpreterTag, KnowsFreeThreadedDebugAndNarrowBuilds) {
  FakeProcess process;
  TestEnv env({.process = &process});
  process.Answer(
      "python", 0,
      Answer(R"({"implementation": "cpython", "major": 3, "minor": 13, "free_threaded": 1, "debug": 1, )"
             R"("wide": 0, "platform": "linux-x86_64"})"));
  EXPECT_THAT(InterpreterTag(env, kPython), IsOkAndHolds(Tag{"cp313", "cp313td", "linux_i686"}));
  process.Answer(
      "python", 0,
      Answer(R"({"implementation": "cpython", "major": 3, "minor": 11, "free_threaded": 0, "debug": 0, )"
             R"("wide": 1, "platform": "macosx-14.0-arm64"})"));
  EXPECT_THAT(InterpreterTag(env, kPython), IsOkAndHolds(Tag{"cp311", "cp311", "macosx_14_0_arm64"}));
}

TEST(InterpreterTag, SaysWhyThereIsNone) {
  FakeProcess process;
  TestEnv env({.process = &process});
  EXPECT_THAT(InterpreterTag(env, kPython), FailsWith(ErrorCode::kNotFound, HasSubstr("/opt/python")));
  process.Answer("python", 3, Answer());
  EXPECT_THAT(InterpreterTag(env, kPython), FailsWith(ErrorCode::kCommandFailed, HasSubstr("exit status 3")));
  process.Answer("python", 0, "hello\n");
  EXPECT_THAT(InterpreterTag(env, kPython),
              FailsWith(ErrorCode::kCommandFailed, HasSubstr("did not report its tag")));
  process.Answer("python", 0, Answer("{nonsense"));
  EXPECT_THAT(InterpreterTag(env, kPython), FailsWith(ErrorCode::kCommandFailed, HasSubstr("")));
  process.Answer("python", 0, Answer(R"({"implementation": "cpython", "major": "3"})"));
  EXPECT_THAT(InterpreterTag(env, kPython), FailsWith(ErrorCode::kCommandFailed, HasSubstr("major")));
  process.Answer("python", 0, Answer(R"({"implementation": "pypy"})"));
  EXPECT_THAT(InterpreterTag(env, kPython), FailsWith(ErrorCode::kUnsupported, HasSubstr("pypy")));
}

TEST(InterpreterTag, ReadsARealInterpreter) {
  TestEnv env;
  const auto python = FindProgram("python3", env->variables.at("PATH"));
  if (!python) GTEST_SKIP() << "python3 is not on PATH";
  ASSERT_OK_AND_ASSIGN(const Tag tag, InterpreterTag(env, *python));
  EXPECT_THAT(tag.python, testing::MatchesRegex("cp3[0-9]+"));
  EXPECT_THAT(tag.abi, testing::StartsWith(tag.python));
  EXPECT_THAT(tag.platform, testing::StartsWith("linux_"));
}

TEST(ParseTag, LimitsWhatASetStandsFor) {
  std::string words = "a";
  for (int i = 1; i < 10; ++i) words += ".a";
  EXPECT_THAT(ParseTag(words + "-" + words + "-" + words), test::IsOk());  // 1000
  EXPECT_THAT(ParseTag(words + ".a-" + words + "-" + words),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("stands for more than 1000")));
  std::string many = "a";
  for (int i = 0; i < 1'000'000; ++i) many += ".a";
  EXPECT_THAT(ParseTag(many + "-" + many + "-" + many),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("stands for more than 1000")));
}

}  // namespace
}  // namespace ptpkg::wheel
