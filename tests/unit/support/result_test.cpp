#include "support/result.h"

#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>

#include "support/cancel.h"
#include "support/matchers.h"
#include "support/recording_reporter.h"
#include "support/reporter.h"

namespace ptpkg::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<std::unique_ptr<int>> Half(int number) {
  if (number % 2 != 0) return Error(ErrorCode::kInvalidInput, "odd");
  return std::make_unique<int>(number / 2);
}

Result<void> CheckEven(int number) {
  PTPKG_TRY(const auto half, Half(number), "while halving");
  EXPECT_EQ(*half * 2, number);
  return Ok();
}

Result<int> Quarter(int number) {
  PTPKG_CHECK(CheckEven(number), "while checking");
  PTPKG_TRY(auto half, Half(number));
  PTPKG_TRY(auto quarter, Half(*half));  // twice in one scope
  return *quarter;
}

TEST(Result, TryPassesValuesAndErrorsWithContext) {
  EXPECT_THAT(Quarter(8), IsOkAndHolds(2));
  const Result<int> odd = Quarter(3);
  EXPECT_THAT(odd, FailsWith(ErrorCode::kInvalidInput, "odd"));
  EXPECT_THAT(odd.error().context(), ElementsAre("while halving", "while checking"));
  const Result<int> odd_half = Quarter(6);
  EXPECT_THAT(odd_half, FailsWith(ErrorCode::kInvalidInput, "odd"));
  EXPECT_THAT(odd_half.error().context(), ElementsAre());
}

TEST(Result, AccessToTheWrongSideIsABrokenInvariant) {
  const Result<int> good = 1;
  const Result<int> bad = Error(ErrorCode::kIo, "x");
  EXPECT_THROW(static_cast<void>(*bad), std::logic_error);
  EXPECT_THROW(static_cast<void>(good.error()), std::logic_error);
  EXPECT_THROW(static_cast<void>(Ok().error()), std::logic_error);
  EXPECT_TRUE(good);
  EXPECT_FALSE(bad);
}

TEST(Assert, NamesExpressionAndPlace) {
  try {
    PTPKG_ASSERT(1 + 1 == 3);
    FAIL() << "did not throw";
  } catch (const std::logic_error& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("1 + 1 == 3"));
    EXPECT_THAT(failure.what(), HasSubstr("result_test.cpp"));
  }
}

TEST(Matchers, CanFail) {
  const Result<int> good = 5;
  const Result<int> bad = Error(ErrorCode::kIo, "disk on fire").WithHint("run");
  EXPECT_THAT(good, ::testing::Not(IsOkAndHolds(6)));
  EXPECT_THAT(bad, ::testing::Not(IsOkAndHolds(5)));
  EXPECT_THAT(bad, ::testing::Not(IsOk()));
  EXPECT_THAT(good, ::testing::Not(FailsWith(ErrorCode::kIo, HasSubstr(""))));
  EXPECT_THAT(bad, ::testing::Not(FailsWith(ErrorCode::kNotFound, HasSubstr("fire"))));
  EXPECT_THAT(bad, ::testing::Not(FailsWith(ErrorCode::kIo, "fire")));
  EXPECT_THAT(bad, ::testing::Not(HasHint("walk")));
  EXPECT_THAT(good, ::testing::Not(HasHint("")));
}

TEST(CancelToken, ChecksAsAnError) {
  CancelToken cancel;
  EXPECT_OK(cancel.Check());
  cancel.Cancel();
  EXPECT_TRUE(cancel.cancelled());
  EXPECT_THAT(cancel.Check(), FailsWith(ErrorCode::kCancelled, "interrupted"));
}

TEST(Task, FinishesExactlyOnceWhateverHappens) {
  RecordingReporter reporter;
  {
    Task done(reporter, {.stage = "build", .subject = "x", .total_bytes = 10});
    done.Advance(4);
    done.Advance(6);
    done.ChildOutput("line");
    Task moved = std::move(done);
    moved.Done("fine");
    const Task dropped(reporter, {.stage = "conda", .subject = "x"});
    Task skipped(reporter, {.stage = "wheel", .subject = "x"});
    skipped.Skipped("inputs unchanged");
  }
  const auto tasks = reporter.tasks();
  ASSERT_EQ(tasks.size(), 3U);
  EXPECT_EQ(tasks[0].outcome, TaskOutcome::kDone);
  EXPECT_EQ(tasks[0].detail, "fine");
  EXPECT_EQ(tasks[0].done_bytes, 10U);
  EXPECT_THAT(tasks[0].child_output, ElementsAre("line"));
  EXPECT_EQ(tasks[1].outcome, TaskOutcome::kFailed);
  EXPECT_EQ(tasks[2].outcome, TaskOutcome::kSkipped);
}

}  // namespace
}  // namespace ptpkg::test
