#pragma once
// Interface for progress and messages; libraries never print. Layer: support. Renderers (terminal, plain,
// JSON lines) are in cli/. Tests use RecordingReporter.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ptpkg {

using TaskId = std::uint64_t;

struct TaskInfo {
  std::string stage;              ///< "source", "build", "relink", "conda", ...
  std::string subject;            ///< Artifact or package that it works on.
  std::uint64_t total_bytes = 0;  ///< 0 when unknown.
  std::string how = {};           ///< Its resources: "6 jobs: 8 cores, memory for 6"; "" = none to report.
  std::string log_file = {};      ///< File for its output: an absolute path; "" = none.
};

/// Progress of a task whose steps are counted by the tool that it runs.
struct StepProgress {
  std::uint64_t done = 0;
  std::uint64_t total = 0;  ///< At least `done`; 0 when unknown.
  bool percent = false;     ///< `done` is percent and `total` 100: the tool reports no more.
  int part = 0;  ///< In a script that counts several times: number of the count, from 1; 0 = none yet.
  double steps_per_minute = 0;  ///< During the last minute; 0 = not known.
  /// 0 to 1, of the task's time, by the last run; it never falls. nullopt: no run is remembered.
  std::optional<double> share = {};
  std::optional<double> seconds_left = {};  ///< Until the end of the whole task; nullopt: not known.
};

enum class TaskOutcome : std::uint8_t { kDone, kSkipped, kFailed };

/// All calls may come from any thread; an implementation locks.
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual TaskId TaskStarted(const TaskInfo& info) = 0;
  /// Adds to the bytes done of the task.
  virtual void TaskAdvanced(TaskId id, std::uint64_t bytes) = 0;
  /// Replaces the steps reported before.
  virtual void TaskSteps(TaskId id, const StepProgress& steps) = 0;
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
  void Steps(const StepProgress& steps) { reporter_->TaskSteps(id_, steps); }
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
  void TaskSteps(TaskId, const StepProgress&) override {}
  void TaskFinished(TaskId, TaskOutcome, std::string_view) override {}
  void ChildOutput(TaskId, std::string_view) override {}
  void Note(std::string_view) override {}
  void Warn(std::string_view) override {}
};

}  // namespace ptpkg
