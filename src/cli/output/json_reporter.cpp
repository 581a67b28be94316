// Progress for machines: one JSON object a line; docs/formats/log.md describes the fields. Layer: cli.
// Reports of a task are limited to one a second, since each archive member would make one. A silent task is
// reported every 30 s, so that a reader can tell a long step from a dead process.

#include <mutex>

#include "cli/output/json_log.h"
#include "cli/output/task_table.h"
#include "cli/output/text_reporter.h"
#include "support/text/json.h"

namespace ptpkg::cli {

namespace {

constexpr double kSecondsBetweenLines = 1;
constexpr double kSecondsBetweenSilentLines = 30;

constexpr std::string_view OutcomeName(TaskOutcome outcome) {
  switch (outcome) {
    case TaskOutcome::kDone:
      return "done";
    case TaskOutcome::kSkipped:
      return "skipped";
    case TaskOutcome::kFailed:
      return "failed";
  }
  return "";
}

void AddSteps(const StepProgress& steps, double age, Json& event) {
  if (steps.done > 0 || steps.total > 0) {
    event["done"] = steps.done;
    // Unknown values are left out: 0 would look like a count.
    if (steps.total > 0) event["total"] = steps.total;
    event["unit"] = steps.percent ? "percent" : "steps";
    event["part"] = steps.part;
  }
  if (steps.steps_per_minute > 0) event["per_minute"] = steps.steps_per_minute;
  if (const auto left = SecondsLeft(steps, age)) event["seconds_left"] = *left;
}

class JsonReporter final : public ProgressReporter {
 public:
  JsonReporter(Clock& clock, LogSink& sink, const ReporterOptions& options)
      : clock_(clock), tasks_(clock), sink_(sink), options_(options) {}

  TaskId TaskStarted(const TaskInfo& info) override {
    const std::lock_guard lock(mutex_);
    const TaskId id = tasks_.Start(info);
    Json event = {{"event", "started"},
                  {"task", id},
                  {"stage", info.stage},
                  {"subject", info.subject},
                  {"total_bytes", info.total_bytes}};
    if (!info.how.empty()) event["how"] = info.how;
    if (!info.log_file.empty()) event["log"] = info.log_file;
    Emit(event);
    return id;
  }
  void TaskAdvanced(TaskId id, std::uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    RunningTask* task = tasks_.Find(id);
    if (task == nullptr) return;
    task->done_bytes += bytes;
    if (tasks_.SecondsSince(task->last_line) >= kSecondsBetweenLines) EmitProgress(id, *task);
  }
  void TaskSteps(TaskId id, const StepProgress& steps) override {
    const std::lock_guard lock(mutex_);
    RunningTask* task = tasks_.Find(id);
    if (task == nullptr) return;
    task->steps = steps;
    task->steps_at = clock_.Now();
    if (tasks_.SecondsSince(task->last_line) >= kSecondsBetweenLines) EmitProgress(id, *task);
  }
  void TaskFinished(TaskId id, TaskOutcome outcome, std::string_view detail) override {
    const std::lock_guard lock(mutex_);
    const auto task = tasks_.Finish(id);
    if (!task) return;
    Emit({{"event", "finished"},
          {"task", id},
          {"stage", task->info.stage},
          // Again, so that a reader of failures need not keep the events of each start.
          {"subject", task->info.subject},
          {"outcome", OutcomeName(outcome)},
          {"detail", detail},
          {"done_bytes", task->done_bytes},
          {"seconds", tasks_.SecondsSince(task->start)}});
  }
  void ChildOutput(TaskId id, std::string_view line) override {
    // The log file of the script has every line anyway (field `log` of its start).
    if (!options_.verbose) return;
    const std::lock_guard lock(mutex_);
    Emit({{"event", "output"}, {"task", id}, {"line", line}});
  }
  void Note(std::string_view message) override {
    const std::lock_guard lock(mutex_);
    if (!options_.quiet) Emit({{"event", "note"}, {"message", message}});
  }
  void Warn(std::string_view message) override {
    const std::lock_guard lock(mutex_);
    Emit({{"event", "warning"}, {"message", message}});
  }
  void Tick() override {
    const std::lock_guard lock(mutex_);
    for (auto& [id, task] : tasks_.running()) {
      if (tasks_.SecondsSince(task.last_line) >= kSecondsBetweenSilentLines) EmitProgress(id, task);
    }
  }
  // Each event is a whole line, so nothing is drawn or held back.
  void Settle() override {}

 private:
  void EmitProgress(TaskId id, RunningTask& task) {
    // Reports of bytes and the ticks share this time, so a task that reports gets no lines of a silent one.
    task.last_line = clock_.Now();
    Json event = {{"event", "progress"},
                  {"task", id},
                  {"done_bytes", task.done_bytes},
                  {"seconds", tasks_.SecondsSince(task.start)}};
    if (task.steps) AddSteps(*task.steps, tasks_.SecondsSince(task.steps_at), event);
    Emit(event);
  }
  void Emit(const Json& event) {
    const bool is_task_event = event.contains("task");
    // --quiet keeps warnings, which have no task.
    if (options_.quiet && is_task_event) return;
    sink_.Write(JsonLine(event));
  }

  std::mutex mutex_;
  Clock& clock_;
  TaskTable tasks_;
  LogSink& sink_;
  ReporterOptions options_;
};

}  // namespace

std::unique_ptr<ProgressReporter> MakeJsonReporter(Clock& clock, LogSink& sink,
                                                   const ReporterOptions& options) {
  return std::make_unique<JsonReporter>(clock, sink, options);
}

}  // namespace ptpkg::cli
