#pragma once
// The running tasks of a reporter: names, bytes, times. Layer: cli. Not locked: the
// reporter that owns it locks.

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "support/clock.h"
#include "support/reporter.h"

namespace ptpkg::cli {

struct RunningTask {
  TaskInfo info;
  std::uint64_t done_bytes = 0;
  std::chrono::steady_clock::time_point start;
  std::chrono::steady_clock::time_point last_line;      ///< When a reporter last wrote of it; set by that.
  std::string child_line = {};                          ///< Last line that its child process printed.
  std::optional<StepProgress> steps = {};               ///< The last reported steps.
  std::chrono::steady_clock::time_point steps_at = {};  ///< Time of that report.
};

class TaskTable {
 public:
  explicit TaskTable(Clock& clock) : clock_(clock) {}

  TaskId Start(const TaskInfo& info);
  /// Null for an id that is not running.
  RunningTask* Find(TaskId id);
  std::optional<RunningTask> Finish(TaskId id);
  /// Running tasks, by start.
  [[nodiscard]] std::map<TaskId, RunningTask>& running() { return running_; }
  [[nodiscard]] double SecondsSince(std::chrono::steady_clock::time_point start) const;

 private:
  Clock& clock_;
  TaskId next_ = 1;
  std::map<TaskId, RunningTask> running_;
};

/// The rest of `steps.seconds_left`, which was reported `age` seconds ago; nullopt when it is not known.
std::optional<double> SecondsLeft(const StepProgress& steps, double age);

/// "0.4 s", "12 s", "3 m 05 s".
std::string FormatSeconds(double seconds);

}  // namespace ptpkg::cli
