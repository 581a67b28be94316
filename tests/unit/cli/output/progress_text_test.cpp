#include "cli/output/progress_text.h"

#include <gmock/gmock.h>

#include "cli/output/text_layout.h"

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

RunningTask Building(const StepProgress& steps) {
  RunningTask task;
  task.info = {.stage = "build", .subject = "libc10-2.6.0-0"};
  task.steps = steps;
  return task;
}

TEST(StartedLines, NamesTheJobsAndTheLog) {
  const TaskInfo info{.stage = "build", .subject = "toy-1.0-0", .how = "2 jobs: 2 cores"};
  EXPECT_EQ(StartedLines({}, info, "dist/logs/toy.log"),
            std::vector<std::string>{"   build  toy-1.0-0: 2 jobs: 2 cores; log: dist/logs/toy.log"});
  EXPECT_EQ(StartedLines({.width = 44}, info, "dist/logs/toy.log"),
            (std::vector<std::string>{"   build  toy-1.0-0: 2 jobs: 2 cores; log:",
                                      "          dist/logs/toy.log"}));
  EXPECT_EQ(StartedLines({}, {.stage = "build", .subject = "toy"}, "x.log"),
            std::vector<std::string>{"   build  toy: log: x.log"});
  EXPECT_TRUE(StartedLines({}, {.stage = "conda", .subject = "toy"}, "").empty());
}

TEST(TimeLeftText, IsNoMoreExactThanItCanBe) {
  EXPECT_EQ(TimeLeftText(0), "about 5 s left");
  EXPECT_EQ(TimeLeftText(42), "about 40 s left");
  EXPECT_EQ(TimeLeftText(185), "about 3 min left");
  EXPECT_EQ(TimeLeftText(5340), "about 89 min left");
  EXPECT_EQ(TimeLeftText(7900), "about 2 h 10 min left");
}

TEST(StepsText, CountsRateAndTimeLeft) {
  StepProgress steps{.done = 45, .total = 90, .part = 1, .steps_per_minute = 12.4, .seconds_left = 180};
  EXPECT_EQ(StepsText(steps, 0, 100), "45/90 steps, 12/min, about 3 min left");
  EXPECT_EQ(StepsText(steps, 60, 100), "45/90 steps, 12/min, about 2 min left") << "the clock goes on";
  EXPECT_EQ(StepsText(steps, 0, 32), "45/90 steps, about 3 min left");
  EXPECT_EQ(StepsText(steps, 0, 15), "45/90 steps");
  EXPECT_EQ(StepsText(steps, 0, 5), "");
  steps.steps_per_minute = 1.25;
  steps.seconds_left.reset();
  EXPECT_EQ(StepsText(steps, 0, 100), "45/90 steps, 1.2/min");
  EXPECT_EQ(StepsText({.done = 45, .total = 100, .percent = true, .steps_per_minute = 7, .seconds_left = 20},
                      0, 99),
            "45%, about 20 s left");
  EXPECT_EQ(StepsText({.done = 45, .steps_per_minute = 30}, 0, 99), "45 steps, 30/min") << "no total, no end";
  EXPECT_EQ(StepsText({.seconds_left = 180}, 0, 99), "about 3 min left")
      << "by the last run, before any step";
}

TEST(RunningLine, DrawsStepsAndLeavesTheirCountOutOfTheLine) {
  const RunningTask task = Building({.done = 45, .total = 90, .part = 1});
  const RunningText text{
      .task = &task, .seconds = 65, .child_line = "[45/90] Building CXX object a.o", .bar = true};
  EXPECT_EQ(RunningLine({}, text),
            "   build  libc10-2.6.0-0  65 s  [##########----------] 45/90 steps  Building CXX object a.o");
  EXPECT_EQ(RunningLine({.width = 60}, text), "   build  libc10-2.6.0-0  65 s  [#######-------] 45/90 steps");
  EXPECT_EQ(RunningLine({.width = 48}, text), "   build  libc1….6.0-0  65 s  45/90 steps  Build");
}

TEST(RunningLine, TheBarIsOfTimeWhereTheLastRunIsKnown) {
  const RunningTask task = Building({.done = 80, .total = 100, .part = 1, .share = 0.25, .seconds_left = 90});
  EXPECT_EQ(RunningLine({}, {.task = &task, .seconds = 30, .bar = true}),
            "   build  libc10-2.6.0-0  30 s  [#####---------------] 80/100 steps, about 2 min left");
}

TEST(RunningLine, WithoutATotalThereIsNoBar) {
  const RunningTask task = Building({.done = 8, .part = 1});
  EXPECT_EQ(RunningLine({}, {.task = &task, .seconds = 30, .child_line = "g++ -c a.cpp", .bar = true}),
            "   build  libc10-2.6.0-0  30 s  8 steps  g++ -c a.cpp");
}

TEST(RunningLine, StepsFitEveryWidth) {
  const RunningTask task = Building(
      {.done = 45, .total = 90, .part = 1, .steps_per_minute = 12, .share = 0.5, .seconds_left = 180});
  for (std::size_t width = 20; width < 140; ++width) {
    const std::string line = RunningLine(
        {.width = width}, {.task = &task, .seconds = 7, .others = 3, .child_line = "日本 x", .bar = true});
    EXPECT_LE(DisplayWidth(line), width) << line;
  }
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
