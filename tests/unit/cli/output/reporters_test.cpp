#include "cli/output/reporters.h"

#include <gmock/gmock.h>

#include "support/fake_clock.h"
#include "support/text/json.h"

namespace ptpkg::cli {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class RecordingSink final : public LogSink {
 public:
  void Write(std::string_view text) override { writes.emplace_back(text); }
  std::optional<std::size_t> Width() override { return width; }

  std::vector<std::string> Take() { return std::exchange(writes, {}); }

  std::optional<std::size_t> width;
  std::vector<std::string> writes;
};

class Reporters : public testing::Test {
 protected:
  std::unique_ptr<ProgressReporter> Make(const ReporterOptions& options) {
    return MakeReporter(clock_, sink_, options);
  }

  test::FakeClock clock_;
  RecordingSink sink_;
};

TEST_F(Reporters, AutoIsTerminalOnlyOnATerminalWithoutCi) {
  Make({})->TaskStarted({.stage = "a", .subject = "b"});
  EXPECT_THAT(sink_.Take(), IsEmpty()) << "no terminal: plain lines";
  sink_.width = 60;
  Make({.in_ci = true})->TaskStarted({.stage = "a", .subject = "b"});
  EXPECT_THAT(sink_.Take(), IsEmpty());
  Make({.quiet = true})->TaskStarted({.stage = "a", .subject = "b"});
  EXPECT_THAT(sink_.Take(), IsEmpty());
  Make({})->TaskStarted({.stage = "a", .subject = "b"});
  EXPECT_THAT(sink_.Take(), ElementsAre("\r\x1b[J       a  b  0.0 s\r", "\r\x1b[J"));
}

TEST_F(Reporters, PlainTellsOfASilentTaskAfter2SecondsAndEvery30) {
  const auto reporter = Make({});
  const TaskId id = reporter->TaskStarted({.stage = "build", .subject = "toy"});
  for (int second = 0; second < 65; ++second) {
    clock_.Advance(milliseconds(1000));
    reporter->Tick();
    if (second == 40) reporter->ChildOutput(id, "[3/9] Building");
  }
  EXPECT_THAT(sink_.Take(), ElementsAre("   build  toy  2.0 s\n", "   build  toy  32 s\n",
                                        "   build  toy  62 s  [3/9] Building\n"));
  reporter->TaskFinished(id, TaskOutcome::kDone, "");
  EXPECT_THAT(sink_.Take(), ElementsAre("   build  toy: done in 65 s\n"));
}

TEST_F(Reporters, WorkThatNoTaskTellsOfIsTold) {
  const auto plain = Make({});
  clock_.Advance(milliseconds(31'000));
  plain->Tick();
  plain->Tick();
  EXPECT_THAT(sink_.Take(), ElementsAre("   ptpkg  working, 31 s\n"));
  sink_.width = 40;
  const auto terminal = Make({});
  clock_.Advance(milliseconds(900));
  terminal->Tick();
  EXPECT_THAT(sink_.Take(), IsEmpty());
  clock_.Advance(milliseconds(1000));
  terminal->Tick();
  EXPECT_THAT(sink_.Take(), ElementsAre("\r\x1b[J   ptpkg  working, 1.9 s\r"));
  terminal->Settle();
  EXPECT_THAT(sink_.Take(), ElementsAre("\r\x1b[J"));
  clock_.Advance(milliseconds(5000));
  terminal->Tick();
  EXPECT_THAT(sink_.Take(), IsEmpty()) << "results are being printed";
}

TEST_F(Reporters, TheTerminalsClockRunsWithoutAnyEvent) {
  sink_.width = 60;
  const auto reporter = Make({});
  const TaskId id = reporter->TaskStarted({.stage = "build", .subject = "toy"});
  EXPECT_THAT(sink_.Take(), ElementsAre("\r\x1b[J   build  toy  0.0 s\r"));
  clock_.Advance(milliseconds(1500));
  reporter->Tick();
  EXPECT_THAT(sink_.Take(), ElementsAre("\r\x1b[J   build  toy  1.5 s\r"));
  reporter->TaskFinished(id, TaskOutcome::kDone, "");
  EXPECT_THAT(sink_.Take(), ElementsAre("\r\x1b[J", "   build  toy: done in 1.5 s\n"));
}

TEST_F(Reporters, AWindowMadeNarrowerGetsShorterLines) {
  sink_.width = 60;
  const auto reporter = Make({});
  const TaskId id =
      reporter->TaskStarted({.stage = "build", .subject = "pytorch-2.15.0-cuda130_py313_h0123456_200"});
  sink_.Take();
  sink_.width = 30;
  clock_.Advance(milliseconds(200));
  reporter->Tick();
  EXPECT_THAT(sink_.Take(), ElementsAre("\r\x1b[J   build  pytor…56_200  0.2 s\r"));
  reporter->TaskFinished(id, TaskOutcome::kFailed, "");
  EXPECT_THAT(sink_.Take(), ElementsAre("\r\x1b[J", "   build  pytor…56_200: failed\n"));
}

TEST_F(Reporters, TasksThatHadNothingToDoAreOneLine) {
  const auto reporter = Make({});
  const auto skip = [&](const char* subject, const char* why) {
    const TaskId id = reporter->TaskStarted({.stage = "build", .subject = subject});
    reporter->TaskFinished(id, TaskOutcome::kSkipped, why);
  };
  skip("a", "inputs unchanged");
  skip("b", "inputs unchanged");
  skip("c", "inputs unchanged");
  EXPECT_THAT(sink_.Take(), IsEmpty());
  skip("d", "would run: tools changed");
  EXPECT_THAT(sink_.Take(), ElementsAre("          3 stages: inputs unchanged\n",
                                        "   build  d: would run: tools changed\n"));
  skip("a", "inputs unchanged");
  skip("b", "no package changed");
  reporter->Note("x");
  EXPECT_THAT(sink_.Take(), ElementsAre("          2 stages: nothing to do\n", "note: x\n"));
  skip("e", "inputs unchanged");
  clock_.Advance(milliseconds(1100));
  reporter->Tick();
  EXPECT_THAT(sink_.Take(), ElementsAre("   build  e: inputs unchanged\n")) << "not held back for long";
}

TEST_F(Reporters, StepsOfOtherTasksAreLinesWhereTheyTakeLong) {
  const auto reporter = Make({});
  for (const int milliseconds_taken : {1900, 2100}) {
    const TaskId id = reporter->TaskStarted({.stage = "unpack", .subject = "x.whl"});
    clock_.Advance(milliseconds(milliseconds_taken));
    reporter->TaskFinished(id, TaskOutcome::kDone, "");
  }
  reporter->TaskFinished(reporter->TaskStarted({.stage = "hash", .subject = "y"}), TaskOutcome::kFailed, "");
  EXPECT_THAT(sink_.Take(), ElementsAre("  unpack  x.whl: done in 2.1 s\n"));
}

TEST_F(Reporters, TheTerminalShowsTheTaskStartedLast) {
  sink_.width = 60;
  const auto reporter = Make({});
  reporter->TaskStarted({.stage = "check", .subject = "x.whl"});
  sink_.Take();
  const TaskId id =
      reporter->TaskStarted({.stage = "unpack", .subject = "x.whl", .total_bytes = 100'000'000});
  clock_.Advance(milliseconds(1000));
  reporter->TaskAdvanced(id, 50'000'000);
  EXPECT_THAT(sink_.Take(), ElementsAre("\r\x1b[J  unpack  x.whl  0.0 s  +1 more\r",
                                        "\r\x1b[J  unpack  x.whl  1.0 s  +1 more  50.0 MB of 100.0 MB\r"));
}

TEST_F(Reporters, VerboseFoldsNothingAndShowsChildOutput) {
  const auto reporter = Make({.verbose = true});
  for (const char* subject : {"a", "b"}) {
    const TaskId id = reporter->TaskStarted({.stage = "build", .subject = subject});
    reporter->ChildOutput(id, "hello");
    reporter->TaskFinished(id, TaskOutcome::kSkipped, "inputs unchanged");
  }
  EXPECT_THAT(sink_.Take(), ElementsAre("          | hello\n", "   build  a: inputs unchanged\n",
                                        "          | hello\n", "   build  b: inputs unchanged\n"));
}

TEST_F(Reporters, HeldBackLinesComeAtTheEnd) {
  auto reporter = Make({});
  const TaskId id = reporter->TaskStarted({.stage = "build", .subject = "a"});
  reporter->TaskFinished(id, TaskOutcome::kSkipped, "inputs unchanged");
  reporter.reset();
  EXPECT_THAT(sink_.Take(), ElementsAre("   build  a: inputs unchanged\n"));
}

TEST_F(Reporters, QuietSaysWarningsOnly) {
  const auto reporter = Make({.quiet = true});
  const TaskId id = reporter->TaskStarted({.stage = "build", .subject = "a"});
  clock_.Advance(milliseconds(40'000));
  reporter->Tick();
  reporter->Note("n");
  reporter->TaskFinished(id, TaskOutcome::kDone, "");
  reporter->Warn("w");
  EXPECT_THAT(sink_.Take(), ElementsAre("warning: w\n"));
}

TEST_F(Reporters, NotesAreBrokenBetweenWordsOnATerminal) {
  sink_.width = 24;
  const auto reporter = Make({.format = LogFormat::kPlain});
  reporter->Note("one two three four five six");
  reporter->Warn("one two three four");
  EXPECT_THAT(sink_.Take(), ElementsAre("note: one two three four\n      five six\n",
                                        "warning: one two three\n         four\n"));
}

TEST_F(Reporters, EveryJsonLineIsAnObject) {
  const auto reporter = Make({.format = LogFormat::kJson});
  const TaskId id = reporter->TaskStarted({.stage = "build", .subject = "a\xff"});
  for (int second = 0; second < 61; ++second) {
    clock_.Advance(milliseconds(1000));
    reporter->Tick();
  }
  reporter->TaskAdvanced(id, 5);
  reporter->TaskFinished(id, TaskOutcome::kDone, "fine");
  const std::vector<std::string> lines = sink_.Take();
  std::vector<std::string> events;
  for (const std::string& line : lines) {
    EXPECT_EQ(line.back(), '\n');
    events.push_back(Json::parse(line)["event"]);
  }
  EXPECT_THAT(events, ElementsAre("started", "progress", "progress", "progress", "finished"));
  EXPECT_THAT(lines[1], HasSubstr("\"seconds\":30.0"));
  EXPECT_THAT(lines[0], Not(HasSubstr("\xff")));
}

TEST_F(Reporters, TheLogIsNamedAtTheStart) {
  const TaskInfo info{
      .stage = "build", .subject = "toy", .how = "2 jobs: 2 cores", .log_file = "/w/dist/logs/toy.log"};
  Make({.cwd = "/w"})->TaskStarted(info);
  EXPECT_THAT(sink_.Take(), ElementsAre("   build  toy: 2 jobs: 2 cores; log: dist/logs/toy.log\n"));
  Make({.cwd = "/other"})->TaskStarted(info);
  EXPECT_THAT(sink_.Take(), ElementsAre("   build  toy: 2 jobs: 2 cores; log: /w/dist/logs/toy.log\n"));
  Make({.quiet = true})->TaskStarted(info);
  EXPECT_THAT(sink_.Take(), IsEmpty());
  Make({.format = LogFormat::kJson, .cwd = "/w"})->TaskStarted(info);
  EXPECT_THAT(sink_.Take(), ElementsAre(AllOf(HasSubstr("\"log\":\"/w/dist/logs/toy.log\""),
                                              HasSubstr("\"how\":\"2 jobs: 2 cores\""))));
}

TEST_F(Reporters, PlainTellsStepsEvery30Seconds) {
  const auto reporter = Make({});
  const TaskId id = reporter->TaskStarted({.stage = "build", .subject = "libc10"});
  for (int second = 1; second <= 65; ++second) {
    clock_.Advance(milliseconds(1000));
    reporter->ChildOutput(id, "[45/90] Building a.o");
    if (second == 60) {
      reporter->TaskSteps(id,
                          {.done = 45, .total = 90, .part = 1, .steps_per_minute = 12, .seconds_left = 182});
    }
    reporter->Tick();
  }
  EXPECT_THAT(sink_.Take(), ElementsAre("   build  libc10  2.0 s  [45/90] Building a.o\n",
                                        "   build  libc10  32 s  [45/90] Building a.o\n",
                                        "   build  libc10  62 s  45/90 steps, 12/min, about 3 min left\n"));
}

TEST_F(Reporters, TheTerminalDrawsSteps) {
  sink_.width = 100;
  const auto reporter = Make({});
  const TaskId id = reporter->TaskStarted({.stage = "build", .subject = "toy"});
  sink_.Take();
  clock_.Advance(milliseconds(1000));
  reporter->TaskSteps(id, {.done = 1, .total = 2, .part = 1, .seconds_left = 40});
  EXPECT_THAT(
      sink_.Take(),
      ElementsAre("\r\x1b[J   build  toy  1.0 s  [##########----------] 1/2 steps, about 40 s left\r"));
}

TEST_F(Reporters, JsonHasStepsAtMostOnceASecond) {
  const auto reporter = Make({.format = LogFormat::kJson});
  const TaskId id = reporter->TaskStarted({.stage = "build", .subject = "toy"});
  const StepProgress steps{.done = 45, .total = 90, .part = 1, .steps_per_minute = 12, .seconds_left = 180};
  reporter->TaskSteps(id, steps);
  reporter->TaskSteps(id, steps);
  EXPECT_EQ(sink_.Take().size(), 1U) << "no second has passed";
  clock_.Advance(milliseconds(1000));
  reporter->TaskSteps(id, steps);
  reporter->TaskSteps(99, steps);
  const std::vector<std::string> lines = sink_.Take();
  ASSERT_EQ(lines.size(), 1U);
  const Json event = Json::parse(lines[0]);
  EXPECT_EQ(event["done"], 45);
  EXPECT_EQ(event["total"], 90);
  EXPECT_EQ(event["unit"], "steps");
  EXPECT_EQ(event["part"], 1);
  EXPECT_EQ(event["per_minute"], 12.0);
  EXPECT_EQ(event["seconds_left"], 180.0);
  clock_.Advance(milliseconds(1000));
  reporter->TaskSteps(id, {.done = 3, .part = 1});
  const Json counted = Json::parse(sink_.Take().at(0));
  EXPECT_FALSE(counted.contains("total"));
  EXPECT_FALSE(counted.contains("seconds_left"));
}

}  // namespace
}  // namespace ptpkg::cli
