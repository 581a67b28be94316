// Progress for logs: lines only. Layer: cli.

#include <fmt/core.h>

#include "cli/output/text_layout.h"
#include "cli/output/text_reporter.h"

namespace ptpkg::cli {

namespace {

// Shorter tasks have the line of their end alone.
constexpr double kSecondsToFirstLine = 2;
constexpr double kSecondsBetweenPlainLines = 30;

/// A line at the end of each task, one when it has lasted 2 s, and one every 30 s after that.
class PlainReporter final : public TextReporter {
 public:
  PlainReporter(Clock& clock, LogSink& sink, const ReporterOptions& options)
      : TextReporter(clock, sink, options) {}
  ~PlainReporter() override { WriteHeldBack(); }

 private:
  void OnTick() override {
    if (options_.quiet) return;
    for (auto& [id, task] : tasks_.running()) {
      const bool first = task.last_line == task.start;
      const double pause = first ? kSecondsToFirstLine : kSecondsBetweenPlainLines;
      if (tasks_.SecondsSince(task.last_line) < pause) continue;
      task.last_line = clock_.Now();
      RunningText text = TextOf(task);
      // Counted steps say more than the one that ended last.
      if (task.steps && task.steps->done > 0) text.child_line = {};
      WriteRunning(text);
    }
    // Work between two stages belongs to no task. A log that stops there looks like a run that hangs.
    const double idle = tasks_.SecondsSince(last_line_);
    if (!tasks_.running().empty() || idle < kSecondsBetweenPlainLines) return;
    WriteRunning({.seconds = idle});
  }

  void WriteRunning(const RunningText& text) {
    Style style = CurrentStyle();
    constexpr std::size_t kColumnsOfALog = 120;  // a compiler's command line has hundreds
    if (!style.width) style.width = kColumnsOfALog;
    WriteLine(RunningLine(style, text));
  }
};

}  // namespace

std::unique_ptr<ProgressReporter> MakePlainReporter(Clock& clock, LogSink& sink,
                                                    const ReporterOptions& options) {
  return std::make_unique<PlainReporter>(clock, sink, options);
}

}  // namespace ptpkg::cli
