#pragma once
// How the libraries tell the user what happens; they never print. Layer: support.
// Renderers (terminal, plain, JSON lines) live in cli/; tests use RecordingReporter.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ptpkg {

using TaskId = std::uint64_t;

struct TaskInfo {
  std::string stage;              ///< "source", "build", "relink", "conda", ...
  std::string subject;            ///< What it works on: an artifact or package name.
  std::uint64_t total_bytes = 0;  ///< 0 when unknown.
};

enum class TaskOutcome : std::uint8_t { kDone, kSkipped, kFailed };

/// All calls may come from any thread; an implementation locks.
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual TaskId TaskStarted(const TaskInfo& info) = 0;
  /// Adds to the bytes done of the task.
  virtual void TaskAdvanced(TaskId id, std::uint64_t bytes) = 0;
  /// `detail`: one short phrase for people, "3 files changed", "inputs unchanged", or "".
  virtual void TaskFinished(TaskId id, TaskOutcome outcome, std::string_view detail) = 0;
  /// One line of a child process.
  virtual void ChildOutput(TaskId id, std::string_view line) = 0;
  virtual void Note(std::string_view message) = 0;
  virtual void Warn(std::string_view message) = 0;
};

/// Reports one task; a task that is dropped without Done or Skipped counts as failed.
class Task {
 public:
  Task(Reporter& reporter, const TaskInfo& info) : reporter_(&reporter), id_(reporter.TaskStarted(info)) {}
  Task(Task&& other) noexcept : reporter_(other.reporter_), id_(other.id_) { other.reporter_ = nullptr; }
  Task& operator=(Task&&) = delete;
  ~Task() { Finish(TaskOutcome::kFailed, ""); }

  void Advance(std::uint64_t bytes) { reporter_->TaskAdvanced(id_, bytes); }
  void ChildOutput(std::string_view line) { reporter_->ChildOutput(id_, line); }
  void Done(std::string_view detail = "") { Finish(TaskOutcome::kDone, detail); }
  void Skipped(std::string_view detail) { Finish(TaskOutcome::kSkipped, detail); }

 private:
  void Finish(TaskOutcome outcome, std::string_view detail) {
    if (reporter_ == nullptr) return;
    reporter_->TaskFinished(id_, outcome, detail);
    reporter_ = nullptr;
  }

  Reporter* reporter_;
  TaskId id_;
};

/// Drops everything.
class NullReporter final : public Reporter {
 public:
  TaskId TaskStarted(const TaskInfo&) override { return 0; }
  void TaskAdvanced(TaskId, std::uint64_t) override {}
  void TaskFinished(TaskId, TaskOutcome, std::string_view) override {}
  void ChildOutput(TaskId, std::string_view) override {}
  void Note(std::string_view) override {}
  void Warn(std::string_view) override {}
};

}  // namespace ptpkg
