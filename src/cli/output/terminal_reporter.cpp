// Progress for a terminal: finished tasks scroll by, the last line moves. Layer: cli.

#include <fmt/core.h>

#include "cli/output/text_reporter.h"

namespace ptpkg::cli {

namespace {

constexpr double kSecondsBetweenDraws = 0.1;
constexpr double kSecondsBeforeIdle = 1;
constexpr std::size_t kUnknownWidth = 80;

/// The moving line shows the task that was started last, with its clock.
class TerminalReporter final : public TextReporter {
 public:
  TerminalReporter(Clock& clock, LogSink& sink, const ReporterOptions& options)
      : TextReporter(clock, sink, options), last_draw_(clock.Now()) {}
  ~TerminalReporter() override {
    Erase();
    WriteHeldBack();
  }

 private:
  void BeforeLines() override { Erase(); }
  void AfterLines() override { Draw(); }
  void OnTick() override { DrawIfDue(); }
  void OnProgress() override { DrawIfDue(); }

  // The cursor rests at the start of the line. Where a terminal made narrower breaks the line into several,
  // it is still at their start, and everything below it is ours to clear.
  void Erase() {
    if (drawn_) sink_.Write("\r\x1b[J");
    drawn_ = false;
  }

  void DrawIfDue() {
    if (tasks_.SecondsSince(last_draw_) >= kSecondsBetweenDraws) Draw();
  }

  void Draw() {
    if (options_.quiet) return;
    last_draw_ = clock_.Now();
    RunningText text;
    if (!tasks_.running().empty()) {
      // The last one started: unpacking within a check, and not the check.
      const RunningTask& task = tasks_.running().rbegin()->second;
      text = TextOf(task);
      text.others = tasks_.running().size() - 1;
      text.bar = true;
    } else if (text.seconds = tasks_.SecondsSince(last_line_); text.seconds < kSecondsBeforeIdle) {
      // Most gaps between two tasks are short, and a line for each would flicker.
      return Erase();
    }
    // The last column stays free: some terminals break the line as soon as it is taken.
    // Without colour: the loop below takes the first character of each escape sequence.
    std::string line =
        RunningLine({.color = false, .width = sink_.Width().value_or(kUnknownWidth) - 1}, text);
    // Control characters of a compiler's output would move the cursor.
    for (char& c : line) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
    }
    sink_.Write(fmt::format("\r\x1b[J{}\r", line));
    drawn_ = true;
  }

  std::chrono::steady_clock::time_point last_draw_;
  bool drawn_ = false;
};

}  // namespace

std::unique_ptr<ProgressReporter> MakeTerminalReporter(Clock& clock, LogSink& sink,
                                                       const ReporterOptions& options) {
  return std::make_unique<TerminalReporter>(clock, sink, options);
}

}  // namespace ptpkg::cli
