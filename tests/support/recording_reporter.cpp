#include "support/recording_reporter.h"

#include "support/assert.h"

namespace ptpkg::test {

TaskId RecordingReporter::TaskStarted(const TaskInfo& info) {
  const std::lock_guard lock(mutex_);
  tasks_.emplace_back().info = info;
  return tasks_.size() - 1;
}

void RecordingReporter::TaskAdvanced(TaskId id, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  tasks_.at(id).done_bytes += bytes;
}

void RecordingReporter::TaskSteps(TaskId id, const StepProgress& steps) {
  const std::lock_guard lock(mutex_);
  tasks_.at(id).steps.push_back(steps);
}

void RecordingReporter::TaskFinished(TaskId id, TaskOutcome outcome, std::string_view detail) {
  const std::lock_guard lock(mutex_);
  TaskRecord& task = tasks_.at(id);
  PTPKG_ASSERT(!task.outcome);
  task.outcome = outcome;
  task.detail = detail;
}

void RecordingReporter::ChildOutput(TaskId id, std::string_view line) {
  const std::lock_guard lock(mutex_);
  tasks_.at(id).child_output.emplace_back(line);
}

void RecordingReporter::Note(std::string_view message) {
  const std::lock_guard lock(mutex_);
  notes_.emplace_back(message);
}

void RecordingReporter::Warn(std::string_view message) {
  const std::lock_guard lock(mutex_);
  warnings_.emplace_back(message);
}

std::vector<RecordingReporter::TaskRecord> RecordingReporter::tasks() const {
  const std::lock_guard lock(mutex_);
  return tasks_;
}

std::vector<std::string> RecordingReporter::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

std::vector<std::string> RecordingReporter::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_;
}

}  // namespace ptpkg::test
