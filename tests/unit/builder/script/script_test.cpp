#include "builder/script/script.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

#include "builder/resume/work_layout.h"
#include "builder/script/failed_commands.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "support/text/text.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOkAndHolds;
using test::TestEnv;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ScriptTest : public ::testing::Test {
 protected:
  ScriptTest() {
    folder_ = env_.dir().MakeDir("recipe");
    env_.dir().MakeDir("w");
    layout_ = *MakeWorkLayout(env_, env_.dir() / "w");
    EXPECT_OK(env_->fs.MakeDirs(layout_.source));
    variables_ = {{"PATH", "/usr/bin:/bin"}, {"PREFIX", layout_.prefix.str()}};
  }

  Result<void> Run(const std::string& text) {
    return RunBuildScript(env_, {.stage = "build",
                                 .subject = "toy-1.0-0",
                                 .title = "",
                                 .interpreter = interpreter_,
                                 .text = text,
                                 .file = layout_.root / "script/build_script",
                                 .cwd = layout_.source,
                                 .log_file = env_.dir() / "logs/toy.log",
                                 .variables = variables_,
                                 .failed_commands = FailedCommandsFile(layout_),
                                 .watched = {{"PREFIX", layout_.prefix}, {"SRC_DIR", layout_.source}},
                                 .secrets = secrets_});
  }
  FailedCommands Failed() {
    auto failed = ReadFailedCommands(env_->fs, FailedCommandsFile(layout_));
    EXPECT_THAT(failed, test::IsOk());
    return failed ? *std::move(failed) : FailedCommands();
  }
  std::string Log() { return env_.dir().ReadFile("logs/toy.log"); }

  TestEnv env_;
  AbsPath folder_ = AbsPath::Literal("/nonexistent");
  WorkLayout layout_;
  std::map<std::string, std::string> variables_;
  std::string interpreter_ = "bash";
  std::map<std::string, std::string> secrets_;
};

TEST_F(ScriptTest, ASecretReachesTheScriptAndNoLog) {
  env_->variables["TOKEN"] = "s3cr3t-of-builds";
  variables_["TOKEN"] = "the build's own";
  secrets_ = SecretsOf(env_, {"TOKEN", "NOT_SET"}, "toy-1.0-0");
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("the secret 'NOT_SET' is not set")));
  const Result<void> failed = Run("test \"$TOKEN\" = s3cr3t-of-builds && echo \"error: x$TOKEN\"; exit 3");
  EXPECT_THAT(Log(), HasSubstr("error: x****\n"));
  EXPECT_THAT(Log(), Not(HasSubstr("s3cr3t")));
  ASSERT_THAT(failed, FailsWith(ErrorCode::kCommandFailed, ::testing::_));
  EXPECT_THAT(failed.error().context(), Not(Contains(HasSubstr("s3cr3t"))));
}

TEST_F(ScriptTest, SecretsOfSeveralLinesAndShortOnes) {
  env_->variables["KEY"] = "-----first-line\nsecond-line-of-key";
  env_->variables["PIN"] = "1";
  secrets_ = SecretsOf(env_, {"KEY", "PIN"}, "toy-1.0-0");
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("the secret 'PIN' has fewer than 4 bytes")));
  ASSERT_OK(
      Run("while read -r line; do echo \"> $line\"; done <<< \"$KEY\"; printf %s \"$KEY\" | base64 -w0; echo "
          "$PIN\n"));
  EXPECT_THAT(Log(), Not(HasSubstr("second-line-of-key")));
  EXPECT_THAT(Log(), HasSubstr("> ****\n> ****\n****"));
}

TEST_F(ScriptTest, RunsInTheSourcesWithOnlyItsEnvironment) {
  ASSERT_OK(Run("pwd\nenv | cut -d= -f1 | sort | tr '\\n' ' '\necho error >&2\ntouch \"$PREFIX/made\"\n"));
  EXPECT_THAT(Log(), HasSubstr("\n" + layout_.source.str() + "\n"));
  EXPECT_THAT(Log(), HasSubstr("\nPATH PREFIX PWD SHLVL _ error\n"));
  EXPECT_THAT(Log(), HasSubstr("# PATH=/usr/bin:/bin\n"));
  EXPECT_THAT(Exists(env_->fs, layout_.prefix / "made"), IsOkAndHolds(true));
  ASSERT_EQ(env_.reporter.tasks().size(), 1U);
  EXPECT_EQ(env_.reporter.tasks()[0].info.subject, "toy-1.0-0");
  EXPECT_THAT(env_.reporter.tasks()[0].child_output, Contains(layout_.source.str()));
}

TEST_F(ScriptTest, AProcessThatIsLeftWritingFailsTheBuild) {
  const auto result = Run(
      "(exec sleep 300 > \"$PREFIX/data.txt\") &\nuntil [ -e \"$PREFIX/data.txt\" ]; do sleep 0.01; done\n");
  ASSERT_THAT(result, FailsWith(ErrorCode::kCommandFailed,
                                "the build script of 'toy-1.0-0' ended while its process 'sleep 300' was "
                                "still writing '$PREFIX/data.txt'"));
  EXPECT_THAT(result, HasHint(HasSubstr("wait for the process")));
  EXPECT_THAT(result, HasHint(HasSubstr("logs/toy.log")));
  EXPECT_TRUE(Failed().first_ns.has_value());
  EXPECT_THAT(Failed().targets, ElementsAre((layout_.prefix / "data.txt").str()));
}

TEST_F(ScriptTest, AFileThatAFailedScriptLeavesHalfWrittenIsRecorded) {
  EXPECT_THAT(Run("sleep 300 > half.txt &\nuntil [ -e half.txt ]; do sleep 0.01; done\nexit 3\n"),
              FailsWith(ErrorCode::kCommandFailed, HasSubstr("status 3")));
  EXPECT_THAT(Failed().targets, ElementsAre((layout_.source / "half.txt").str()));
}

TEST_F(ScriptTest, AProcessThatIsOnlyLeftRunningIsANote) {
  ASSERT_OK(Run("sleep 300 > /dev/null &\n"));
  EXPECT_THAT(
      env_.reporter.notes(),
      ElementsAre("'toy-1.0-0': the build script left processes running; ptpkg ended them: 'sleep 300'"));
  EXPECT_FALSE(Failed().first_ns.has_value());
}

TEST_F(ScriptTest, WhatFailsIsRecordedWhileTheScriptRuns) {
  const std::string record = FailedCommandsFile(layout_).str();
  ASSERT_OK(
      Run("echo 'make: *** [Makefile:3: table.txt] Error 1'\n"
          "for i in $(seq 1000); do if tr -d '\\0 ' < '" +
          record +
          "' | grep table.txt; then exit 0; fi\n"
          "sleep 0.01; done; exit 1\n"));
  EXPECT_THAT(Failed().targets, ElementsAre("table.txt"));
  ASSERT_OK(Run("true"));
  EXPECT_THAT(Failed().targets, ::testing::IsEmpty());
}

TEST_F(ScriptTest, AFailureShowsTheLast40LinesAndTheLog) {
  const auto result = Run("for i in $(seq 1 100); do echo \"line $i\"; done\nfalse\necho not reached\n");

  ASSERT_THAT(result,
              FailsWith(ErrorCode::kCommandFailed, "the build script of 'toy-1.0-0' exited with status 1"));
  ASSERT_EQ(result.error().context().size(), 1U);
  const std::string& context = result.error().context()[0];
  EXPECT_THAT(context, HasSubstr((env_.dir() / "logs/toy.log").str()));
  EXPECT_THAT(context, HasSubstr("\n  line 61\n"));
  EXPECT_THAT(context, ::testing::EndsWith("\n  line 100"));
  EXPECT_THAT(context, Not(HasSubstr("line 60\n")));
  EXPECT_THAT(context, Not(HasSubstr("not reached")));
  EXPECT_THAT(result, HasHint(HasSubstr("logs/toy.log")));
  EXPECT_THAT(Log(), HasSubstr("\nline 1\n"));
}

TEST_F(ScriptTest, LinesThatTellTheCauseAreShownThoughOtherJobsWentOn) {
  const auto result =
      Run("echo 'a.cpp:3:1: error: expected a type'\necho 'Killed signal terminated program cc1plus'\n"
          "for i in $(seq 1 100); do echo \"b.cpp:$i: warning: unused\"; done\necho 'ninja: error: "
          "stopped'\nfalse\n");
  const std::string& context = result.error().context()[0];
  EXPECT_THAT(context, HasSubstr(":\n  a.cpp:3:1: error: expected a type\n"
                                 "  Killed signal terminated program cc1plus\n  ...\n  b.cpp:62: warning"));
  EXPECT_EQ(context.find("ninja: error: stopped"), context.rfind("ninja: error: stopped"))
      << "once is enough";
}

TEST_F(ScriptTest, AFailureNamesTheFoldersOfTheBuildByTheirVariables) {
  variables_["BUILD_PREFIX"] = layout_.build_prefix.str();
  variables_["SRC_DIR"] = layout_.source.str();
  const auto result =
      Run("echo \"$PREFIX/lib/liba.so: no\"; echo \"-I$BUILD_PREFIX/include $SRC_DIR/a.c\"\n"
          "echo \"${SRC_DIR}_build\"; exit 1\n");
  const std::string& context = result.error().context()[0];
  EXPECT_THAT(context,
              ::testing::EndsWith(":\n  $PREFIX/lib/liba.so: no\n  -I$BUILD_PREFIX/include $SRC_DIR/a.c\n  " +
                                  layout_.source.str() + "_build"));
  EXPECT_THAT(Log(), HasSubstr("\n" + layout_.prefix.str() + "/lib/liba.so: no\n"));
}

TEST_F(ScriptTest, AFailureShowsTheBlockOfTheFirstCommandThatFailed) {
  const auto result = Run(
      "echo '[1/300] a'\necho 'FAILED: a.o'\necho 'c++ -c a.cpp'\necho 'nvml.c:1:10: fatal error: nvml.h: No "
      "such file or directory'\nfor i in $(seq 2 100); do echo \"[$i/300] b\"; echo \"b.cpp:$i: warning: "
      "x\"; done\nfalse\n");
  const std::string& context = result.error().context()[0];
  EXPECT_EQ(context,
            "while running the build script; the first command that failed, from its log '" +
                (env_.dir() / "logs/toy.log").str() +
                "':\n  FAILED: a.o\n  c++ -c a.cpp\n  nvml.c:1:10: fatal error: nvml.h: No such file or "
                "directory");
  EXPECT_THAT(result, HasHint(HasSubstr("nvidia-nvml-dev"))) << "the table knows it";
  EXPECT_THAT(result, HasHint(HasSubstr("logs/toy.log")));
}

TEST_F(ScriptTest, ACompilerThatWasKilledIsNamed) {
  const auto result =
      Run("echo '[1/3] a'\necho 'FAILED: a.o'\necho 'c++: fatal error: Killed signal terminated program "
          "cc1plus'\nfalse\n");
  EXPECT_THAT(result, FailsWith(ErrorCode::kCommandFailed, HasSubstr("status 1: 'cc1plus' was killed")));
  EXPECT_THAT(result, HasHint(HasSubstr("logs/toy.log")));
}

TEST_F(ScriptTest, StepsAreTold) {
  ASSERT_OK(Run("echo '[1/4] Re-running CMake...'\nfor i in 1 2 3; do echo \"[$i/3] step\"; done\n"));
  const auto steps = env_.reporter.tasks()[0].steps;
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_EQ(steps[0].total, 0U) << "a regeneration";
  EXPECT_EQ(steps[3].done, 3U);
  EXPECT_EQ(steps[3].total, 3U);
  EXPECT_EQ(steps[3].part, 1);
  EXPECT_EQ(env_.reporter.tasks()[0].info.log_file, (env_.dir() / "logs/toy.log").str());
}

TEST_F(ScriptTest, ASecondRunKnowsHowLongItTakes) {
  const std::string script = "for i in 1 2 3; do echo \"[$i/3] step\"; done\n";
  ASSERT_OK(Run(script));
  ASSERT_OK(Run(script));
  const auto told = env_.reporter.tasks()[1].steps;
  ASSERT_EQ(told.size(), 4U);
  EXPECT_EQ(told[0].done, 0U) << "before the first step";
  EXPECT_TRUE(told[0].seconds_left.has_value());
}

TEST_F(ScriptTest, AFailedRunIsNoMeasure) {
  EXPECT_THAT(Run("echo '[1/3] step'\nfalse\n"), FailsWith(ErrorCode::kCommandFailed, HasSubstr("status 1")));
  EXPECT_THAT(Exists(env_->fs, env_->cache_dir / "stages/records/toy-1.0-0/build-steps.json"),
              IsOkAndHolds(false));
}

TEST_F(ScriptTest, AFailureWithoutOutputSaysSo) {
  const auto result = Run("exit 3\n");
  ASSERT_THAT(result, FailsWith(ErrorCode::kCommandFailed, HasSubstr("status 3")));
  EXPECT_THAT(result.error().context()[0], HasSubstr("printed nothing"));
}

TEST_F(ScriptTest, NamesTheSignal) {
  EXPECT_THAT(Run("kill -9 $$\n"), FailsWith(ErrorCode::kCommandFailed, HasSubstr("was killed by signal 9")));
}

TEST_F(ScriptTest, AnInterruptEndsTheWholeGroupAndKeepsTheLog) {
  std::thread interrupt([&] {
    // Not before the script runs: the marker is its first act.
    while (!*Exists(env_->fs, layout_.prefix / "started"))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    env_.cancel.Cancel();
  });
  const auto result =
      Run("echo begun\nsleep 600 & echo $! > \"$PREFIX/pid\"\ntouch \"$PREFIX/started\"\nwait\ntouch "
          "\"$PREFIX/ended\"\n");
  interrupt.join();

  EXPECT_THAT(result, FailsWith(ErrorCode::kCancelled, "interrupted"));
  EXPECT_THAT(result.error().context(), Contains(HasSubstr("logs/toy.log")));
  EXPECT_THAT(Log(), HasSubstr("begun"));
  EXPECT_THAT(Exists(env_->fs, layout_.prefix / "ended"), IsOkAndHolds(false));
  const std::string pid(Trim(*ReadFile(env_->fs, layout_.prefix / "pid")));
  EXPECT_THAT(Exists(env_->fs, AbsPath::Literal("/proc") / pid), IsOkAndHolds(false));
}

TEST_F(ScriptTest, AppendsToTheLog) {
  ASSERT_OK(Run("echo first\n"));
  ASSERT_OK(Run("echo second\n"));
  EXPECT_THAT(Log(), HasSubstr("\nfirst\n# toy-1.0-0: "));
  EXPECT_THAT(Log(), ::testing::EndsWith("\nsecond\n"));
}

TEST_F(ScriptTest, TakesTheInterpreterOfTheRecipe) {
  interpreter_ = "sh";
  ASSERT_OK(Run("echo \"${BASH_VERSION:-no bash}\"\n"));
  interpreter_ = "no-such-interpreter";
  EXPECT_THAT(Run("x"), FailsWith(ErrorCode::kNotFound, HasSubstr("no-such-interpreter")));
}

TEST_F(ScriptTest, ReportsALogThatCannotBeWritten) {
  env_.dir().WriteFile("logs", "a file, no folder");
  EXPECT_THAT(Run("true\n").error().message(), HasSubstr("logs"));
}

TEST_F(ScriptTest, TextComesFromLinesThenFileThenBuildSh) {
  recipe::BuildScript script;
  const auto text = [&] { return BuildScriptText(env_->fs, script, folder_); };
  EXPECT_THAT(text(), IsOkAndHolds(std::nullopt));
  env_.dir().WriteFile("recipe/build.sh", "echo default\n");
  EXPECT_THAT(text(), IsOkAndHolds(std::optional<std::string>("echo default\n")));
  env_.dir().WriteFile("recipe/other.sh", "echo other\n");
  script.file = "other";
  EXPECT_THAT(text(), IsOkAndHolds(std::optional<std::string>("echo other\n")));
  EXPECT_THAT(ScriptText(env_->fs, script, folder_), IsOkAndHolds(std::string("echo other\n")));
  script.lines = {"one", "two"};
  EXPECT_THAT(text(), IsOkAndHolds(std::optional<std::string>("one\ntwo\n")));
}

TEST_F(ScriptTest, NamesAMissingScript) {
  recipe::BuildScript script;
  script.file = "make.sh";
  EXPECT_THAT(BuildScriptText(env_->fs, script, folder_),
              FailsWith(ErrorCode::kNotFound, HasSubstr("'make.sh'")));
}

}  // namespace
}  // namespace ptpkg::builder
