#include "cli/task_table.h"

#include <cmath>
#include <fmt/format.h>

#include "support/text.h"

namespace ptpkg::cli {

TaskId TaskTable::Start(const TaskInfo& info) {
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

std::string TaskTable::Progress(const RunningTask& task) const {
  if (task.done_bytes == 0) return "";
  const std::uint64_t total = task.info.total_bytes;
  std::string text = HumanBytes(task.done_bytes);
  if (total > 0) text += " of " + HumanBytes(total);
  const double elapsed = SecondsSince(task.start);
  if (elapsed < 0.5) return text;  // A rate over less than that jumps about.
  const double rate = static_cast<double>(task.done_bytes) / elapsed;
  text += fmt::format(", {}/s", HumanBytes(static_cast<std::uint64_t>(rate)));
  if (total > task.done_bytes && rate > 0) {
    text += fmt::format(", {} left", FormatSeconds(static_cast<double>(total - task.done_bytes) / rate));
  }
  return text;
}

std::string FormatSeconds(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = std::lround(seconds);
  if (whole < 100) return fmt::format("{} s", whole);
  if (whole < 6000) return fmt::format("{} m {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} m", whole / 3600, whole % 3600 / 60);
}

}  // namespace ptpkg::cli
