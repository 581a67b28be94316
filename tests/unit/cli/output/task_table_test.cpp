#include "cli/output/task_table.h"

#include <gmock/gmock.h>

#include "support/fake_clock.h"

namespace ptpkg::cli {
namespace {

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
