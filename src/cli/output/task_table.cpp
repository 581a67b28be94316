#include "cli/output/task_table.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

namespace ptpkg::cli {

TaskId TaskTable::Start(const TaskInfo& info) {
  // Ids grow and `running_` is sorted by them, so its last entry is the task started last, which terminals
  // show.
  const TaskId id = next_++;
  const auto now = clock_.Now();
  running_.emplace(id, RunningTask{.info = info, .done_bytes = 0, .start = now, .last_line = now});
  return id;
}

RunningTask* TaskTable::Find(TaskId id) {
  const auto found = running_.find(id);
  return found == running_.end() ? nullptr : &found->second;
}

std::optional<RunningTask> TaskTable::Finish(TaskId id) {
  const auto found = running_.find(id);
  if (found == running_.end()) return std::nullopt;
  RunningTask task = std::move(found->second);
  running_.erase(found);
  return task;
}

double TaskTable::SecondsSince(std::chrono::steady_clock::time_point start) const {
  return std::chrono::duration<double>(clock_.Now() - start).count();
}

std::optional<double> SecondsLeft(const StepProgress& steps, double age) {
  if (!steps.seconds_left) return std::nullopt;
  // An estimate that has run out stays at 0 until the next report.
  return std::max(0.0, *steps.seconds_left - age);
}

std::string FormatSeconds(double seconds) {
  // 9.95 is the first number that would be shown as "10.0".
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = std::lround(seconds);
  if (whole < 100) return fmt::format("{} s", whole);
  if (whole < 6000) return fmt::format("{} m {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} m", whole / 3600, whole % 3600 / 60);
}

}  // namespace ptpkg::cli
