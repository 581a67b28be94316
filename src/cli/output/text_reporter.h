#pragma once
// What the plain and the terminal reporter have in common: lines for people. Layer: cli.

#include <mutex>
#include <optional>

#include "cli/output/progress_text.h"
#include "cli/output/reporters.h"
#include "cli/output/task_table.h"

namespace ptpkg::cli {

/// Finished tasks are lines. Tasks in a row that had nothing to do are folded into one line, unless
/// verbose: they are held back until another line follows, a second has passed, or Settle(). What a dry run
/// would do is no such task.
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
  /// One line, what was held back before it.
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
