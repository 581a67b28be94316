#include "support/process/foreground.h"

#include <gtest/gtest.h>

#include "support/files/fs.h"
#include "support/matchers.h"
#include "support/temp_dir.h"

namespace ptpkg {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::HasSubstr;

ForegroundCommand Shell(const std::string& text) {
  return {.argv = {"/bin/sh", "-c", text}, .env = {{"NAME", "value"}}};
}

TEST(Foreground, ReturnsTheStatusAsAShellTellsIt) {
  EXPECT_THAT(RunInForeground(Shell("exit 0")), IsOkAndHolds(0));
  EXPECT_THAT(RunInForeground(Shell("exit 7")), IsOkAndHolds(7));
  EXPECT_THAT(RunInForeground(Shell("kill -TERM $$")), IsOkAndHolds(128 + 15));
}

TEST(Foreground, GivesTheCommandItsFolderAndNothingButItsEnvironment) {
  const test::TempDir folder;
  ForegroundCommand command = Shell("pwd > out; env >> out");
  command.cwd = folder.path();
  ASSERT_THAT(RunInForeground(command), IsOkAndHolds(0));
  const auto fs = MakeOsFs();
  ASSERT_OK_AND_ASSIGN(const std::string out, ReadFile(*fs, folder.path() / "out"));
  EXPECT_THAT(out, HasSubstr(folder.path().str() + "\n"));
  EXPECT_THAT(out, HasSubstr("NAME=value\n"));
  EXPECT_EQ(out.find("HOME="), std::string::npos);
}

TEST(Foreground, TheCommandIsNotDeafToTheTerminal) {
  // We ignore these while it runs; it must not inherit that.
  EXPECT_THAT(RunInForeground(Shell("kill -INT $$")), IsOkAndHolds(128 + 2));
}

TEST(Foreground, IsAskedToEndWhenWeAre) {
  EXPECT_THAT(RunInForeground(Shell("trap 'exit 9' TERM; kill -TERM $PPID; sleep 10 & wait")),
              IsOkAndHolds(9));
  EXPECT_THAT(RunInForeground(Shell("trap 'exit 8' HUP; kill -HUP $PPID; sleep 10 & wait")), IsOkAndHolds(8));
  ForegroundCommand shell = Shell("trap '' TERM; trap 'exit 7' HUP; kill -TERM $PPID; sleep 10 & wait");
  shell.interactive = true;
  EXPECT_THAT(RunInForeground(shell), IsOkAndHolds(7));
}

TEST(Foreground, WhatCannotBeStartedIsNamed) {
  ForegroundCommand command = Shell("exit 0");
  command.cwd = AbsPath::Literal("/nonexistent");
  EXPECT_THAT(RunInForeground(command), FailsWith(ErrorCode::kNotFound, HasSubstr("'/nonexistent'")));
  EXPECT_THAT(RunInForeground({.argv = {"/no/such"}}),
              FailsWith(ErrorCode::kNotFound, HasSubstr("'/no/such'")));
  EXPECT_THAT(RunInForeground({}), FailsWith(ErrorCode::kNotFound, HasSubstr("''")));
}

}  // namespace
}  // namespace ptpkg
