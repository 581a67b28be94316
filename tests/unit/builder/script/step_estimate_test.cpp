#include "builder/script/step_estimate.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using test::TestEnv;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

StepCount::State At(std::uint64_t done, std::uint64_t total, int part = 1) {
  return {.done = done, .total = total, .part = part};
}

/// 10 s until the first step, then 80 steps in 20 s and 20 in 80 s, then 5 s.
StepRecord Uneven() {
  StepEstimate run({}, 4);
  for (std::uint64_t done = 0; done <= 100; ++done) {
    const double extra = done <= 80 ? static_cast<double>(done) / 4 : 20 + static_cast<double>(done - 80) * 4;
    run.At(At(done, 100), 10 + extra);
  }
  return *run.Finish(115);
}

TEST(StepEstimate, WithoutARecordGoesByTheRate) {
  StepEstimate estimate({}, 2);
  EXPECT_EQ(estimate.At(At(0, 90), 0).seconds_left, std::nullopt);
  EXPECT_EQ(estimate.At(At(1, 90), 1).seconds_left, std::nullopt) << "too early";
  const StepProgress progress = estimate.At(At(30, 90), 60);
  EXPECT_EQ(progress.done, 30U);
  EXPECT_EQ(progress.total, 90U);
  ASSERT_TRUE(progress.seconds_left);
  EXPECT_NEAR(*progress.seconds_left, 120, 0.1);
  EXPECT_NEAR(progress.steps_per_minute, 30, 0.1);
  EXPECT_EQ(progress.share, std::nullopt);
}

TEST(StepEstimate, TheRateIsThatOfTheLastMinute) {
  StepEstimate estimate({}, 2);
  for (std::uint64_t done = 0; done <= 100; ++done)
    estimate.At(At(done, 200), static_cast<double>(done) / 10);
  StepProgress progress;
  for (std::uint64_t done = 101; done <= 120; ++done)
    progress = estimate.At(At(done, 200), 10 + static_cast<double>(done - 100) * 10);
  EXPECT_NEAR(progress.steps_per_minute, 6, 1);
}

TEST(StepEstimate, CommandsWithoutTotalHaveARateAndNoEnd) {
  StepEstimate estimate({}, 2);
  StepCount::State state{.kind = StepKind::kCommand, .part = 1};
  StepProgress progress;
  for (int i = 1; i <= 30; ++i) {
    state.done = static_cast<std::uint64_t>(i);
    progress = estimate.At(state, i);
  }
  EXPECT_EQ(progress.seconds_left, std::nullopt);
  EXPECT_NEAR(progress.steps_per_minute, 60, 0.1);
}

TEST(StepEstimate, ARecordWeighsTheSteps) {
  const StepRecord record = Uneven();
  ASSERT_THAT(record.parts, SizeIs(1));
  EXPECT_NEAR(record.parts[0].start, 10, 0.01);
  EXPECT_NEAR(record.parts[0].seconds, 100, 0.01);
  EXPECT_NEAR(record.parts[0].curve[16], 0.2, 0.02) << "80 % of the steps took 20 % of the time";

  StepEstimate estimate(record, 4);
  EXPECT_NEAR(*estimate.At(StepCount::State{}, 0).seconds_left, 115, 0.01) << "before the first step";
  EXPECT_NEAR(*estimate.At(At(0, 100), 10).seconds_left, 105, 0.5);
  const StepProgress progress = estimate.At(At(80, 100), 30);
  EXPECT_NEAR(*progress.seconds_left, 85, 2) << "by the rate it would be 5 s";
  EXPECT_NEAR(*progress.share, 30.0 / 115, 0.02);
}

TEST(StepEstimate, ASlowerMachineCountsMoreAndMore) {
  StepEstimate estimate(Uneven(), 4);
  estimate.At(At(0, 100), 20);
  EXPECT_GT(*estimate.At(At(90, 100), 20 + 120).seconds_left, 60) << "twice as slow as then";
  EXPECT_LT(*estimate.At(At(90, 100), 20 + 120).seconds_left, 95);
}

TEST(StepEstimate, FewerJobsTakeLonger) {
  StepEstimate estimate(Uneven(), 2);
  EXPECT_NEAR(*estimate.At(StepCount::State{}, 0).seconds_left, 230, 0.01);
}

TEST(StepEstimate, OfAResumedBuildTheLastStepsAreLeft) {
  StepEstimate estimate(Uneven(), 4);
  EXPECT_NEAR(*estimate.At(At(0, 20), 10).seconds_left, 85, 3);
}

TEST(StepEstimate, ManyMoreStepsThanThenGoByTheRate) {
  StepEstimate estimate(Uneven(), 4);
  estimate.At(At(0, 500), 0);
  EXPECT_NEAR(*estimate.At(At(100, 500), 100).seconds_left, 400, 1);
}

TEST(StepEstimate, TheShareNeverFalls) {
  StepEstimate estimate(Uneven(), 4);
  estimate.At(At(0, 100), 10);
  const double before = *estimate.At(At(80, 100), 30).share;
  EXPECT_GE(*estimate.At(At(81, 100), 300).share, before);
}

TEST(StepEstimate, ARunThatTellsLessDoesNotReplaceTheRecord) {
  StepEstimate nothing({}, 1);
  EXPECT_EQ(nothing.Finish(3), std::nullopt);
  StepEstimate resumed(Uneven(), 4);
  resumed.At(At(0, 40), 1);
  resumed.At(At(40, 40), 9);
  EXPECT_EQ(resumed.Finish(9), std::nullopt);
}

TEST(StepEstimate, PartsOfARegenerationAreForgotten) {
  StepEstimate estimate({}, 1);
  estimate.At(At(1, 4), 1);
  estimate.At(At(0, 0, 0), 2);
  estimate.At(At(1, 90), 50);
  estimate.At(At(90, 90), 80);
  EXPECT_NEAR(estimate.Finish(90)->parts[0].start, 50, 0.01);
}

TEST(StepRecord, IsReadAsItWasWritten) {
  TestEnv env;
  WriteStepRecord(env, "toy-1.0-0", Uneven());
  const auto read = ReadStepRecord(env, "toy-1.0-0");
  ASSERT_TRUE(read);
  EXPECT_NEAR(read->seconds, 115, 0.001);
  EXPECT_EQ(read->jobs, 4);
  ASSERT_THAT(read->parts, SizeIs(1));
  EXPECT_EQ(read->parts[0].steps, 100U);
  EXPECT_THAT(read->parts[0].curve, SizeIs(21));
  EXPECT_FALSE(ReadStepRecord(env, "other"));
  EXPECT_THAT(env.reporter.warnings(), IsEmpty());
}

TEST(StepRecord, AnotherVersionOrBuildHasThatOfTheNewestRun) {
  TestEnv env;
  StepRecord record = Uneven();
  WriteStepRecord(env, "toy-1.0-0", record);
  record.jobs = 7;
  WriteStepRecord(env, "toy-1.0-1", record);
  WriteStepRecord(env, "toy-more-3.0-0", Uneven());
  const AbsPath records = env->cache_dir / "stages/records";
  ASSERT_OK(env->fs.SetMtime(records / "toy-1.0-0/build-steps.json", 1'700'000'000'000'000'000));
  ASSERT_OK(env->fs.SetMtime(records / "toy-1.0-1/build-steps.json", 1'700'000'001'000'000'000));
  const auto read = ReadStepRecord(env, "toy-2.0-0");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->jobs, 7);
  EXPECT_EQ(ReadStepRecord(env, "toy-1.0-0")->jobs, 4);
  EXPECT_FALSE(ReadStepRecord(env, "more-3.0-0"));
}

TEST(StepRecord, ADamagedOneIsNone) {
  TestEnv env;
  WriteStepRecord(env, "toy", Uneven());
  const AbsPath path = env->cache_dir / "stages/records/toy/build-steps.json";
  const std::string good = *ReadFile(env->fs, path);
  const auto damaged = [&](const std::string& from, const std::string& to) {
    const std::size_t at = good.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    std::string text = good;
    EXPECT_OK(WriteFile(env->fs, path, text.replace(at, from.size(), to)));
    return !ReadStepRecord(env, "toy").has_value();
  };
  EXPECT_TRUE(damaged(good, ""));
  EXPECT_TRUE(damaged(good, "[]"));
  EXPECT_TRUE(damaged("\"version\": 1", "\"version\": 2"));
  EXPECT_TRUE(damaged("\"jobs\": 4", "\"jobs\": 0"));
  EXPECT_TRUE(damaged("\"jobs\": 4", "\"jobs\": \"x\""));
  EXPECT_TRUE(damaged("\"steps\": 100", "\"steps\": -1"));
  EXPECT_TRUE(damaged("\"seconds\": 115.0", "\"seconds\": -115.0"));
  EXPECT_TRUE(damaged("\"curve\": [", "\"curve\": [0.5,"));
  EXPECT_TRUE(damaged("\"parts\": [", "\"parts\": [7,"));
  EXPECT_FALSE(damaged("\"jobs\": 4", "\"jobs\": 8"));
}

TEST(StepRecord, OneThatCannotBeWrittenIsWarnedOf) {
  TestEnv env;
  EXPECT_OK(env->fs.MakeDirs(env->cache_dir));
  EXPECT_OK(WriteFile(env->fs, env->cache_dir / "stages", "a file, no folder"));
  WriteStepRecord(env, "toy", Uneven());
  ASSERT_THAT(env.reporter.warnings(), SizeIs(1));
  EXPECT_THAT(env.reporter.warnings()[0], HasSubstr("the time of 'toy'"));
}

}  // namespace
}  // namespace ptpkg::builder
