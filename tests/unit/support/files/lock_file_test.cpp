#include "support/files/lock_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"

namespace ptpkg::test {
namespace {

class LockFileTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<File>> Wait() { return WaitForLock(env_, env_.dir().path() / "lock", "dist"); }

  TestEnv env_;
};

TEST_F(LockFileTest, AFreeLockIsTakenWithoutAWord) {
  ASSERT_THAT(Wait(), IsOk());
  ASSERT_THAT(Wait(), IsOk()) << "the first ended with its result";
  EXPECT_THAT(env_.reporter.tasks(), ::testing::IsEmpty());
  EXPECT_THAT(Exists(env_->fs, env_.dir().path() / "lock"), IsOkAndHolds(true));
}

TEST_F(LockFileTest, WaitsVisiblyForAnotherProcess) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<File> other, Wait());
  env_.clock.OnSleep([&] {
    if (env_.clock.sleeps().size() == 12) other.reset();
  });
  ASSERT_THAT(Wait(), IsOk());
  EXPECT_EQ(env_.clock.sleeps().size(), 12U);
  ASSERT_THAT(env_.reporter.tasks(), ::testing::SizeIs(1));
  EXPECT_EQ(env_.reporter.tasks()[0].info.stage, "wait");
  EXPECT_EQ(env_.reporter.tasks()[0].info.subject, "dist");
  EXPECT_EQ(env_.reporter.tasks()[0].outcome, TaskOutcome::kDone);
}

TEST_F(LockFileTest, AShortWaitIsNotWorthALine) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<File> other, Wait());
  env_.clock.OnSleep([&] {
    if (env_.clock.sleeps().size() == 3) other.reset();
  });
  ASSERT_THAT(Wait(), IsOk());
  EXPECT_THAT(env_.reporter.tasks(), ::testing::IsEmpty());
}

TEST_F(LockFileTest, AnInterruptEndsTheWaiting) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<File> other, Wait());
  env_.clock.OnSleep([&] { env_.cancel.Cancel(); });
  EXPECT_THAT(Wait(), FailsWith(ErrorCode::kCancelled, ::testing::_));
}

TEST_F(LockFileTest, WithoutLocksItIsGranted) {
  MemFs fs;
  fs.AddDir("/d");
  fs.DisableLocks();
  TestEnv env({.fs = &fs});
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<File> one, WaitForLock(env, AbsPath::Literal("/d/lock"), "d"));
  EXPECT_THAT(WaitForLock(env, AbsPath::Literal("/d/lock"), "d"), IsOk());
}

TEST_F(LockFileTest, AFolderThatIsNotThereIsAnError) {
  EXPECT_THAT(WaitForLock(env_, env_.dir().path() / "none/lock", "x"),
              FailsWith(ErrorCode::kNotFound, ::testing::HasSubstr("none/lock")));
}

}  // namespace
}  // namespace ptpkg::test
