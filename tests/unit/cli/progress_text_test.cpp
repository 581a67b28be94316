#include "cli/progress_text.h"

#include <gmock/gmock.h>

#include "cli/text_layout.h"

namespace ptpkg::cli {
namespace {

RunningTask Packing(std::uint64_t done, std::uint64_t total) {
  RunningTask task;
  task.info = {.stage = "conda", .subject = "toytorch-1.4.0-py311_cpu_h3f7a32a_0", .total_bytes = total};
  task.done_bytes = done;
  return task;
}

TEST(FinishedLine, SaysTimeBytesAndDetail) {
  FinishedTask task{.stage = "conda",
                    .subject = "toy-1.0-0",
                    .detail = "3 files changed",
                    .seconds = 1.24,
                    .done_bytes = 3'400'000};
  EXPECT_EQ(FinishedLine({}, task), "   conda  toy-1.0-0: done in 1.2 s, 3.4 MB, 3 files changed");
  task.outcome = TaskOutcome::kFailed;
  EXPECT_EQ(FinishedLine({}, task), "   conda  toy-1.0-0: failed");
  task.outcome = TaskOutcome::kSkipped;
  task.detail = "would run: tools changed";
  EXPECT_EQ(FinishedLine({}, task), "   conda  toy-1.0-0: would run: tools changed");
}

TEST(FinishedLine, NamesAreShortenedInTheMiddle) {
  const FinishedTask task{.stage = "conda",
                          .subject = "pytorch-2.15.0-cuda130_py313_h0123456_200",
                          .detail = "12415 files",
                          .seconds = 185,
                          .done_bytes = 1'900'000'000};
  EXPECT_EQ(FinishedLine({.width = 60}, task),
            "   conda  pytor…6_200: done in 3 m 05 s, 1.9 GB, 12415 files");
}

TEST(FinishedLine, StagesOfTwoWordsShowTheFirst) {
  EXPECT_EQ(FinishedLine({}, {.stage = "repack-conda", .subject = "x.whl", .detail = "", .seconds = 1}),
            "  repack  x.whl: done in 1.0 s");
}

TEST(FinishedLine, FitsEveryWidthWithAndWithoutColour) {
  const FinishedTask task{.stage = "a-long-stage-name",
                          .subject = "日本-pytorch-2.15.0-cuda130_py313_h0123456_200",
                          .outcome = TaskOutcome::kSkipped,
                          .detail = "would run: the digest of a source file has changed",
                          .seconds = 185};
  for (std::size_t width = 20; width < 120; ++width) {
    const std::string plain = FinishedLine({.width = width}, task);
    EXPECT_LE(DisplayWidth(plain), width) << plain;
    std::string colored = FinishedLine({.color = true, .width = width}, task);
    for (const std::string code : {"\x1b[1m", "\x1b[2m", "\x1b[0m", "\x1b[0m"}) {
      const std::size_t at = colored.find(code);
      ASSERT_NE(at, std::string::npos);
      colored.erase(at, code.size());
    }
    EXPECT_EQ(colored, plain) << "colour takes no room";
  }
}

TEST(FoldedLine, Counts) {
  EXPECT_EQ(FoldedLine({}, 14, "inputs unchanged"), "          14 stages: inputs unchanged");
}

TEST(RunningLine, TellsBytesRateAndTimeLeft) {
  const RunningTask task = Packing(20'000'000, 100'000'000);
  EXPECT_EQ(
      RunningLine({}, {.task = &task, .seconds = 2}),
      "   conda  toytorch-1.4.0-py311_cpu_h3f7a32a_0  2.0 s  20.0 MB of 100.0 MB, 10.0 MB/s, 8.0 s left");
  EXPECT_EQ(RunningLine({}, {.task = &task, .seconds = 0.1}),
            "   conda  toytorch-1.4.0-py311_cpu_h3f7a32a_0  0.1 s  20.0 MB of 100.0 MB")
      << "no rate from no time";
}

TEST(RunningLine, UnknownTotalHasNoTimeLeft) {
  const RunningTask task = Packing(5'000'000, 0);
  EXPECT_EQ(RunningLine({}, {.task = &task, .seconds = 1}),
            "   conda  toytorch-1.4.0-py311_cpu_h3f7a32a_0  1.0 s  5.0 MB, 5.0 MB/s");
}

TEST(RunningLine, TheClockRunsWhereThereAreNoBytes) {
  const RunningTask task = Packing(0, 0);
  EXPECT_EQ(RunningLine({}, {.task = &task, .seconds = 65}),
            "   conda  toytorch-1.4.0-py311_cpu_h3f7a32a_0  65 s");
  EXPECT_EQ(
      RunningLine({.width = 60}, {.task = &task, .seconds = 65, .others = 2, .child_line = "[1/80] CXX a.o"}),
      "   conda  toytorch-…3f7a32a_0  65 s  +2 more  [1/80] CXX a.o");
  EXPECT_EQ(RunningLine({}, {.seconds = 3}), "   ptpkg  working, 3.0 s");
}

TEST(RunningLine, DropsTheRateBeforeTheBytes) {
  const RunningTask task = Packing(20'000'000, 100'000'000);
  EXPECT_EQ(RunningLine({.width = 70}, {.task = &task, .seconds = 2}),
            "   conda  toytorch-…h3f7a32a_0  2.0 s  20.0 MB of 100.0 MB, 8.0 s left");
  EXPECT_EQ(RunningLine({.width = 60}, {.task = &task, .seconds = 2}),
            "   conda  toytorch-1…_h3f7a32a_0  2.0 s  20.0 MB of 100.0 MB");
}

TEST(RunningLine, FitsEveryWidth) {
  const RunningTask task = Packing(20'000'000, 100'000'000);
  for (std::size_t width = 20; width < 140; ++width) {
    const std::string line = RunningLine(
        {.width = width}, {.task = &task, .seconds = 7, .others = 3, .child_line = "日本 [1/80]"});
    EXPECT_LE(DisplayWidth(line), width) << line;
  }
}

}  // namespace
}  // namespace ptpkg::cli
