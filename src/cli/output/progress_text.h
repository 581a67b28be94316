#pragma once
// Text of a progress report, fitted to a width: pure functions of values. Layer: cli.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/task_table.h"

namespace ptpkg::cli {

struct Style {
  bool color = false;
  /// Maximum columns of a line; nullopt: no limit. Names are shortened in the middle, then text is cut at its
  /// end.
  std::optional<std::size_t> width = {};

  /// `code`: parameters of the escape sequence, "31" for red.
  [[nodiscard]] std::string Paint(std::string_view code, std::string_view text) const;
};

/// Short form of a stage's name: "repack" for "repack-conda".
[[nodiscard]] std::string_view StageWord(std::string_view stage);

struct FinishedTask {
  std::string stage;
  std::string subject;
  TaskOutcome outcome = TaskOutcome::kDone;
  std::string detail;
  double seconds = 0;
  std::uint64_t done_bytes = 0;
};

/// "   conda  toytorch-1.0-0: done in 1.2 s, 3.4 MB, 3 files changed"
[[nodiscard]] std::string FinishedLine(const Style& style, const FinishedTask& task);

/// "          14 stages: inputs unchanged"
[[nodiscard]] std::string FoldedLine(const Style& style, std::size_t count, std::string_view detail);

/// Lines for the start of a task, if it has something to report: "   build  toy-1.0-0: 2 jobs: 2 cores; log:
/// dist/logs/toy-1.0-0.build.log". Splits into two lines if one is too narrow. The path is never shortened,
/// so that it can be copied, and can exceed the width. Empty without a report. `log`: the path as shown.
[[nodiscard]] std::vector<std::string> StartedLines(const Style& style, const TaskInfo& info,
                                                    std::string_view log);

/// Progress of steps: "45/90 steps, 12/min, about 3 min left", or a shorter form. "45%, about 3 min left" for
/// percents. "45 steps, 12/min" if the total is unknown. "" if nothing is known. `age`: seconds since the
/// report.
[[nodiscard]] std::string StepsText(const StepProgress& steps, double age, std::size_t columns);

/// "about 40 s left", "about 3 min left", "about 2 h 10 min left": only as exact as the estimate.
[[nodiscard]] std::string TimeLeftText(double seconds);

/// Running task: "   build  toytorch-1.0-0  1 m 05 s  [12/80] Building CXX object a.o". If steps are
/// counted: "   build  libc10-2.6.0-0  1 m 05 s  [#####-----] 45/90 steps, 12/min, about 3 min left  a.o".
struct RunningText {
  const RunningTask* task = nullptr;  ///< Null: no stage is running, the program works between two.
  double seconds = 0;
  std::size_t others = 0;            ///< Number of other running tasks.
  std::string_view child_line = {};  ///< Last line that the child process printed.
  double steps_age = 0;              ///< Age of the task's steps in seconds.
  bool bar = false;                  ///< Also draw a bar for counted steps.
};
[[nodiscard]] std::string RunningLine(const Style& style, const RunningText& text);

}  // namespace ptpkg::cli
