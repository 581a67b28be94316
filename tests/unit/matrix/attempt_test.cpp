#include "matrix/attempt.h"

#include "matrix/lease_keeper.h"
#include "support/fault_fs.h"
#include "unit/matrix/matrix_fixture.h"

namespace ptpkg::matrix {
namespace {

using test::FailsWith;
using ::testing::HasSubstr;

class AttemptTest : public MatrixTest {
 protected:
  AttemptTest() : run_(NewRun()), job_(run_.graph.jobs[0]) {}

  Attempt Begin(const std::string& worker = "host h1") {
    return test::Must(Attempt::Begin(env_, run_, job_, worker));
  }
  std::vector<AttemptState> Attempts() { return test::Must(ReadAttempts(env_, run_, job_)); }

  matrix::Run run_;
  Job job_;
};

TEST_F(AttemptTest, TheSecondBeginsWhenTheFirstHasEnded) {
  Attempt first = Begin();
  ASSERT_OK(first.End({.end = JobEnd::kFailed}));
  EXPECT_EQ(Begin().number(), 2U);
  EXPECT_EQ(Attempts()[0].worker, "host h1");
  EXPECT_EQ(PassedAttempt(Attempts()), nullptr);
}

TEST_F(AttemptTest, WaitsForAnAttemptThatMakesProgress) {
  Attempt first = Begin();
  int renewals = 0;
  env_.clock.OnSleep([&] {
    // Ten times as long as the lease, and it goes on.
    if (++renewals < 200) return test::Must(first.Renew());
    if (renewals == 200) test::Must(first.End({.end = JobEnd::kPassed}));
  });
  Attempt second = Begin("host h2");
  EXPECT_EQ(second.number(), 2U);
  EXPECT_EQ(renewals, 200);
  ASSERT_TRUE(Attempts()[0].end.has_value());
  EXPECT_EQ(Attempts()[0].end->end, JobEnd::kPassed);
}

TEST_F(AttemptTest, TakesOverFromAnAttemptWithoutProgressWhichThenPublishesNothing) {
  Attempt first = Begin();
  Attempt second = Begin("host h2");
  EXPECT_EQ(second.number(), 2U);
  EXPECT_EQ(Attempts()[0].end->end, JobEnd::kFenced);
  EXPECT_THAT(first.Renew(), FailsWith(ErrorCode::kRefused, HasSubstr("took over from attempt 1")));
  EXPECT_THAT(first.CheckOpen(), FailsWith(ErrorCode::kRefused, HasSubstr("took over")));
  EXPECT_THAT(first.End({.end = JobEnd::kPassed}), FailsWith(ErrorCode::kRefused, HasSubstr("took over")));
  EXPECT_EQ(PassedAttempt(Attempts()), nullptr);
  ASSERT_OK(second.End({.end = JobEnd::kPassed}));
  EXPECT_EQ(PassedAttempt(Attempts())->number, 2U);
}

TEST_F(AttemptTest, AnAttemptThatEndsInTheLastMomentIsNotFenced) {
  Attempt first = Begin();
  std::chrono::milliseconds slept{0};
  env_.clock.OnSleep([&] {
    slept += env_.clock.sleeps().back();
    if (slept >= std::chrono::seconds(9) && !Attempts()[0].end)
      test::Must(first.End({.end = JobEnd::kPassed}));
  });
  Begin("host h2");
  EXPECT_EQ(Attempts()[0].end->end, JobEnd::kPassed);
}

TEST_F(AttemptTest, ClocksOfTheHostsDoNotMatter) {
  test::TestEnv other;
  other.clock.Advance(std::chrono::hours(5));
  Attempt first = Begin();
  int sleeps = 0;
  other.clock.OnSleep([&] {
    if (++sleeps == 3) test::Must(first.End({.end = JobEnd::kPassed}));
  });
  ASSERT_OK(Attempt::Begin(other, run_, job_, "host h2"));
  EXPECT_EQ(Attempts()[0].end->end, JobEnd::kPassed);
}

TEST_F(AttemptTest, ACancelledRunStopsItsWorkers) {
  Attempt first = Begin();
  ASSERT_OK(WriteFile(env_->fs, run_.CancelFile(), ""));
  EXPECT_THAT(first.Renew(), FailsWith(ErrorCode::kCancelled, HasSubstr("the run was cancelled")));
}

TEST_F(AttemptTest, NoAttemptBeginsInACancelledRun) {
  ASSERT_OK(WriteFile(env_->fs, run_.CancelFile(), ""));
  EXPECT_THAT(Attempt::Begin(env_, run_, job_, "h"),
              FailsWith(ErrorCode::kCancelled, "the run was cancelled"));
  EXPECT_TRUE(Attempts().empty());
}

TEST_F(AttemptTest, AnAttemptThatCannotBeginHasEnded) {
  // The directory, and its first file: three operations are those of the second.
  for (std::uint64_t number = 2; number < 12; ++number) {
    test::FaultFs fs(env_->fs, {.number = number, .scope = test::FaultScope::kMutating});
    Env faulty = WithFs(env_, fs);
    const Result<Attempt> begun = Attempt::Begin(faulty, run_, job_, "h");
    if (begun) break;
    EXPECT_TRUE(Attempts().back().end.has_value()) << number;
  }
}

TEST_F(AttemptTest, AnInterruptEndsTheWaiting) {
  Attempt first = Begin();
  env_.clock.OnSleep([&] { env_.cancel.Cancel(); });
  EXPECT_THAT(Attempt::Begin(env_, run_, job_, "host h2"), FailsWith(ErrorCode::kCancelled, "interrupted"));
}

TEST_F(AttemptTest, AFullDiskIsAnError) {
  test::FaultFs fs(
      env_->fs,
      {.number = 1, .sys_errno = 28, .scope = test::FaultScope::kMutating, .after = test::FaultAfter::kDead});
  Env full = WithFs(env_, fs);
  EXPECT_THAT(Attempt::Begin(full, run_, job_, "host h1"),
              FailsWith(ErrorCode::kIo, HasSubstr("No space left")));
}

TEST_F(AttemptTest, TheKeeperRenewsUntilTheAttemptIsFenced) {
  run_.settings.lease_seconds = 1;
  Attempt first = Begin();
  CancelToken stop;
  const LeaseKeeper keeper(env_, run_, {}, first, stop);
  const std::string beat = Attempts()[0].beat;
  const auto clock = MakeOsClock();
  while (Attempts()[0].beat == beat) clock->SleepFor(std::chrono::milliseconds(5));
  EXPECT_OK(keeper.Check());
  ASSERT_OK(
      WriteFile(env_->fs, first.folder() / "end.json", DumpJson(JobRecordToJson({.end = JobEnd::kFenced}))));
  while (!stop.cancelled()) clock->SleepFor(std::chrono::milliseconds(5));
  EXPECT_THAT(keeper.Check(), FailsWith(ErrorCode::kRefused, HasSubstr("took over")));
}

TEST_F(AttemptTest, TheKeeperStopsAJobThatTakesLongerThanItsLimit) {
  Attempt first = Begin();
  const TimeLimit limit{.job = "magma", .minutes = 5, .begin = env_.clock.Now()};
  env_.clock.Advance(std::chrono::minutes(5));
  CancelToken stop;
  const LeaseKeeper keeper(env_, run_, limit, first, stop);
  const auto clock = MakeOsClock();
  while (!stop.cancelled()) clock->SleepFor(std::chrono::milliseconds(5));
  EXPECT_THAT(keeper.Check(),
              FailsWith(ErrorCode::kCommandFailed, "job 'magma' took longer than its limit of 5 min"));
  EXPECT_THAT(keeper.Check(), test::HasHint(HasSubstr("raise 'minutes' in extra.ptpkg.resources")));
}

TEST_F(AttemptTest, TheKeeperStopsWhatItCannotRenew) {
  run_.settings.lease_seconds = 1;
  Attempt first = Begin();
  ASSERT_OK(env_->fs.Remove(first.folder() / "beat"));
  ASSERT_OK(env_->fs.MakeDir(first.folder() / "beat"));
  CancelToken stop;
  const LeaseKeeper keeper(env_, run_, {}, first, stop);
  const auto clock = MakeOsClock();
  while (!stop.cancelled()) clock->SleepFor(std::chrono::milliseconds(5));
  EXPECT_FALSE(keeper.Check().has_value());
}

}  // namespace
}  // namespace ptpkg::matrix
