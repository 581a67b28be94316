#pragma once
// Base of the plain and the terminal reporter: lines for people. Layer: cli.

#include <mutex>
#include <optional>

#include "cli/output/progress_text.h"
#include "cli/output/reporters.h"
#include "cli/output/task_table.h"

namespace ptpkg::cli {

/// Prints a line for each finished task. Unless verbose, folds consecutive tasks that had nothing to do into
/// one line. Holds these tasks back until another line follows, a second has passed, or Settle(). Does not
/// fold the tasks of a dry run.
class TextReporter : public ProgressReporter {
 public:
  TaskId TaskStarted(const TaskInfo& info) final;
  void TaskAdvanced(TaskId id, std::uint64_t bytes) final;
  void TaskSteps(TaskId id, const StepProgress& steps) final;
  void TaskFinished(TaskId id, TaskOutcome outcome, std::string_view detail) final;
  void ChildOutput(TaskId id, std::string_view line) final;
  void Note(std::string_view message) final;
  void Warn(std::string_view message) final;
  void Tick() final;
  void Settle() final;

 protected:
  TextReporter(Clock& clock, LogSink& sink, const ReporterOptions& options)
      : clock_(clock), sink_(sink), options_(options), tasks_(clock), last_line_(clock.Now()) {}

  // With the lock held.
  virtual void BeforeLines() {}  ///< The next thing written is a line.
  virtual void AfterLines() {}   ///< Tasks or lines have changed.
  virtual void OnTick() {}
  virtual void OnProgress() {}  ///< Bytes or child output came.

  [[nodiscard]] Style CurrentStyle();
  [[nodiscard]] RunningText TextOf(const RunningTask& task) const;
  /// Writes one line, after the lines held back so far.
  void WriteLine(std::string_view line);
  void WriteHeldBack();

  Clock& clock_;
  LogSink& sink_;
  ReporterOptions options_;
  TaskTable tasks_;
  std::chrono::steady_clock::time_point last_line_;  ///< When a line was written or a task started or ended.

 private:
  [[nodiscard]] std::string Shown(const std::string& path) const;

  std::mutex mutex_;
  bool settled_ = false;  ///< Nothing moves until the next task.
  std::optional<FinishedTask> held_;
  std::size_t held_count_ = 0;
  bool held_for_one_reason_ = true;
};

std::unique_ptr<ProgressReporter> MakePlainReporter(Clock& clock, LogSink& sink,
                                                    const ReporterOptions& options);
std::unique_ptr<ProgressReporter> MakeTerminalReporter(Clock& clock, LogSink& sink,
                                                       const ReporterOptions& options);
std::unique_ptr<ProgressReporter> MakeJsonReporter(Clock& clock, LogSink& sink,
                                                   const ReporterOptions& options);

}  // namespace ptpkg::cli
