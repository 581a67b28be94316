#include "cli/output/safe_reporter.h"

#include <gtest/gtest.h>

#include "support/recording_reporter.h"

namespace ptpkg::cli {
namespace {

TEST(SafeReporter, TextsOfOthersAreMadeHarmless) {
  test::RecordingReporter seen;
  const auto reporter = MakeSafeReporter(seen);
  const TaskId id = reporter->TaskStarted({.stage = "build", .subject = "a\x1b[31m", .total_bytes = 7});
  reporter->ChildOutput(id, "\x1b[2Jout");
  reporter->ChildOutput(id, std::string(400'000, 'x'));
  reporter->Note("note\a");
  reporter->Warn("warn\x1b]0;x\x07");
  reporter->TaskFinished(id, TaskOutcome::kDone, "de\x1b[0mtail");
  const auto tasks = seen.tasks();
  ASSERT_EQ(tasks.size(), 1U);
  ASSERT_EQ(tasks[0].child_output.size(), 2U);
  std::string all =
      tasks[0].info.subject + tasks[0].detail + tasks[0].child_output[0] + tasks[0].child_output[1];
  for (const std::string& text : seen.notes()) all += text;
  for (const std::string& text : seen.warnings()) all += text;
  EXPECT_EQ(all.find_first_of("\x1b\a"), std::string::npos) << all;
  EXPECT_LT(all.size(), 3000U);
  EXPECT_EQ(tasks[0].info.total_bytes, 7U);
  EXPECT_EQ(tasks[0].outcome, TaskOutcome::kDone);
  for (const char* const word : {"a", "out", "note", "warn", "detail"}) {
    EXPECT_NE(all.find(word), std::string::npos) << word;
  }
}

TEST(SafeReporter, PasswordsInUrlsAreMasked) {
  test::RecordingReporter seen;
  const auto reporter = MakeSafeReporter(seen);
  const std::string url = std::string("https://me:pa55word") + "@host/x";
  const TaskId id = reporter->TaskStarted({.stage = "fetch", .subject = url});
  reporter->ChildOutput(id, "git clone " + url);
  reporter->TaskFinished(id, TaskOutcome::kDone, url);
  const auto tasks = seen.tasks();
  ASSERT_EQ(tasks.size(), 1U);
  ASSERT_EQ(tasks[0].child_output.size(), 1U);
  for (const std::string& text : {tasks[0].info.subject, tasks[0].detail, tasks[0].child_output[0]}) {
    EXPECT_EQ(text.find("pa55word"), std::string::npos) << text;
    EXPECT_NE(text.find("@host/x"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace ptpkg::cli
