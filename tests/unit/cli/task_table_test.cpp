#include "cli/task_table.h"

#include <gmock/gmock.h>

#include "support/fake_clock.h"

namespace ptpkg::cli {
namespace {

using std::chrono::milliseconds;

TEST(TaskTable, TellsBytesRateAndTimeLeft) {
  test::FakeClock clock;
  TaskTable table(clock);
  const TaskId id = table.Start({.stage = "conda", .subject = "x", .total_bytes = 100'000'000});
  EXPECT_EQ(table.Progress(*table.Find(id)), "");
  table.Find(id)->done_bytes = 20'000'000;
  EXPECT_EQ(table.Progress(*table.Find(id)), "20.0 MB of 100.0 MB") << "no rate from no time";
  clock.SleepFor(milliseconds(2000));
  EXPECT_EQ(table.Progress(*table.Find(id)), "20.0 MB of 100.0 MB, 10.0 MB/s, 8.0 s left");
}

TEST(TaskTable, UnknownTotalHasNoTimeLeft) {
  test::FakeClock clock;
  TaskTable table(clock);
  const TaskId id = table.Start({.stage = "source", .subject = "x", .total_bytes = 0});
  table.Find(id)->done_bytes = 5'000'000;
  clock.SleepFor(milliseconds(1000));
  EXPECT_EQ(table.Progress(*table.Find(id)), "5.0 MB, 5.0 MB/s");
}

TEST(TaskTable, AFinishedTaskIsGone) {
  test::FakeClock clock;
  TaskTable table(clock);
  const TaskId id = table.Start({.stage = "a", .subject = "b"});
  EXPECT_TRUE(table.Finish(id).has_value());
  EXPECT_FALSE(table.Finish(id).has_value());
  EXPECT_EQ(table.Find(id), nullptr);
}

TEST(FormatSeconds, ChoosesTheUnit) {
  EXPECT_EQ(FormatSeconds(0.44), "0.4 s");
  EXPECT_EQ(FormatSeconds(9.96), "10 s");
  EXPECT_EQ(FormatSeconds(185), "3 m 05 s");
  EXPECT_EQ(FormatSeconds(7260), "2 h 01 m");
}

}  // namespace
}  // namespace ptpkg::cli
