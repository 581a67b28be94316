#pragma once
// A Reporter that remembers.

#include <mutex>
#include <vector>

#include "support/reporter.h"

namespace ptpkg::test {

class RecordingReporter final : public Reporter {
 public:
  struct TaskRecord {
    TaskInfo info;
    std::uint64_t done_bytes = 0;
    std::vector<StepProgress> steps = {};
    std::optional<TaskOutcome> outcome;  ///< nullopt while it runs.
    std::string detail;
    std::vector<std::string> child_output;
  };

  TaskId TaskStarted(const TaskInfo& info) override;
  void TaskAdvanced(TaskId id, std::uint64_t bytes) override;
  void TaskSteps(TaskId id, const StepProgress& steps) override;
  void TaskFinished(TaskId id, TaskOutcome outcome, std::string_view detail) override;
  void ChildOutput(TaskId id, std::string_view line) override;
  void Note(std::string_view message) override;
  void Warn(std::string_view message) override;

  // Copies, as other threads may still report.
  [[nodiscard]] std::vector<TaskRecord> tasks() const;
  [[nodiscard]] std::vector<std::string> notes() const;
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  mutable std::mutex mutex_;
  std::vector<TaskRecord> tasks_;
  std::vector<std::string> notes_;
  std::vector<std::string> warnings_;
};

}  // namespace ptpkg::test
