// `ptpkg dev` in a directory whose last run was killed, or went down with the machine.

#include <utility>

#include "unit/pipeline/fixtures/dev_fixture.h"

namespace ptpkg::pipeline {
namespace {

using builder::WorkPhase;
using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(DevTest, ARunThatWasKilledIsGoneOnWithUnlessTheMachineWentDown) {
  PutSource("a.c", "int a;");
  WriteToy();
  ASSERT_THAT(RunDev(), IsOk());
  Leave(WorkPhase::kScript, builder::BootId(env_->fs));
  ASSERT_OK_AND_ASSIGN(const DevSummary second, RunDev());
  EXPECT_FALSE(second.anew);
  Leave(WorkPhase::kScript, "another");
  ASSERT_OK_AND_ASSIGN(const DevSummary third, RunDev());
  EXPECT_EQ(third.why_anew, "the machine went down while the script ran");
}

/// What was written last, as a script that is killed may leave it: half of a source, half of an output.
class DevHalfWrittenTest : public DevTest {
 protected:
  void MakeAndTear() {
    PutSource("a.c", "int a;");
    WriteToy();
    ASSERT_OK_AND_ASSIGN(const DevSummary first, RunDev());
    source_ = first.layout.source;
    ASSERT_OK(WriteFile(env_->fs, source_ / "a.c", "int"));
    ASSERT_OK(WriteFile(env_->fs, source_ / "half.o", "\x7f"));
  }
  void ExpectMadeGood() {
    ASSERT_OK_AND_ASSIGN(const DevSummary second, RunDev());
    EXPECT_FALSE(second.anew) << second.why_anew;
    EXPECT_THAT(Names(second.copied), ElementsAre("a.c"));
    EXPECT_THAT(ReadFile(env_->fs, source_ / "a.c"), IsOkAndHolds("int a;"));
    EXPECT_THAT(Exists(env_->fs, source_ / "half.o"), IsOkAndHolds(false));
  }
  /// The directory was made long ago, and its files are not of the future: the test's clock stands still.
  void LetTimePass() {
    env_.clock.Advance(std::chrono::hours(24 * 365 * 20));
    ASSERT_OK_AND_ASSIGN(builder::WorkState state, builder::ReadWorkState(env_->fs, Root()));
    state.prepared_ns = 1;
    ASSERT_OK(builder::WriteWorkState(env_->fs, Root(), state));
  }

  AbsPath source_ = AbsPath::Literal("/nonexistent");
};

TEST_F(DevHalfWrittenTest, IsCopiedAgainOrRemovedAfterAScriptThatWasKilled) {
  MakeAndTear();
  Leave(WorkPhase::kScript, builder::BootId(env_->fs));
  ExpectMadeGood();
}

TEST_F(DevHalfWrittenTest, AndAfterAPowerCutWhereNoScriptRan) {
  MakeAndTear();
  Leave(WorkPhase::kInstalled, "another");
  LetTimePass();
  ExpectMadeGood();
}

TEST_F(DevHalfWrittenTest, WhatWasInstalledLastIsInstalledAgain) {
  PutSource("a.c", "int a;");
  WriteToy("extra: {ptpkg: {dev: {script: ['true']}}}\n");
  ASSERT_OK_AND_ASSIGN(const DevSummary first, RunDev());
  const AbsPath installed = first.layout.prefix / "share/a.c";
  for (const auto& [phase, boot] : {std::pair(WorkPhase::kScript, builder::BootId(env_->fs)),
                                    std::pair(WorkPhase::kInstalled, std::string("another"))}) {
    ASSERT_OK(WriteFile(env_->fs, installed, ""));
    if (boot == "another") {
      ASSERT_OK(env_->fs.SetMtime(installed, 1));  // as install -p gives it
    }
    Leave(phase, boot);
    LetTimePass();
    ASSERT_OK_AND_ASSIGN(const DevSummary again, RunDev());
    EXPECT_FALSE(again.anew) << again.why_anew;
    EXPECT_EQ(again.script, "build.script");
    EXPECT_THAT(ReadFile(env_->fs, installed), IsOkAndHolds("int a;"));
  }
}

TEST_F(DevHalfWrittenTest, WhatAProcessWasLeftWritingInThePrefixGoes) {
  PutSource("a.c", "int a;");
  const std::string half = "$PREFIX/half";
  WriteToy("", "[ -e " + (env_.dir() / "allowed").str() + " ] || { (exec sleep 300 > " + half + ") & }\n" +
                   "until [ -e " + half + " ] || [ -e " + (env_.dir() / "allowed").str() +
                   " ]; do sleep 0.01; done");
  EXPECT_THAT(RunDev(), FailsWith(ErrorCode::kCommandFailed, HasSubstr("was still writing '$PREFIX/half'")));
  Put("allowed", "");
  ASSERT_OK_AND_ASSIGN(const DevSummary second, RunDev());
  EXPECT_FALSE(second.anew) << second.why_anew;
  EXPECT_THAT(Exists(env_->fs, second.layout.prefix / "half"), IsOkAndHolds(false));
}

TEST_F(DevHalfWrittenTest, APowerCutSoonAfterTheFolderWasMadeMakesItAnew) {
  MakeAndTear();
  Leave(WorkPhase::kInstalled, "another");
  ASSERT_OK_AND_ASSIGN(const DevSummary second, RunDev());
  EXPECT_EQ(second.why_anew, "the machine went down soon after it was created");
}

TEST_F(DevHalfWrittenTest, AfterARebootAScriptThatFailedIsGoneOnWith) {
  PutSource("a.c", "int a;");
  PutSource("state", "bad");
  WriteToy("", "grep -q good state");
  EXPECT_THAT(RunDev(), FailsWith(ErrorCode::kCommandFailed, HasSubstr("the build script")));
  Leave(WorkPhase::kScript, "another");
  LetTimePass();
  PutSource("state", "good");
  ASSERT_OK_AND_ASSIGN(const DevSummary second, RunDev());
  EXPECT_FALSE(second.anew) << second.why_anew;
}

}  // namespace
}  // namespace ptpkg::pipeline
