#include "cli/reporters.h"

#include <fmt/format.h>
#include <mutex>

#include "cli/output.h"
#include "cli/task_table.h"
#include "support/json.h"
#include "support/text.h"

namespace ptpkg::cli {

namespace {

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

struct Style {
  bool color = false;

  [[nodiscard]] std::string Paint(std::string_view code, std::string_view text) const {
    return color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  [[nodiscard]] std::string Stage(std::string_view stage) const {
    return Paint("1", fmt::format("{:>8}", stage));
  }
};

/// "   conda  toytorch-1.0-0: done in 1.2 s, 3.4 MB (…)"
std::string FinishedLine(const Style& style, const RunningTask& task, TaskOutcome outcome,
                         std::string_view detail, double seconds) {
  std::string line = fmt::format("{}  {}: ", style.Stage(task.info.stage), task.info.subject);
  if (outcome == TaskOutcome::kSkipped) return line + style.Paint("2", fmt::format("skipped, {}", detail));
  if (outcome == TaskOutcome::kFailed) return line + style.Paint("31", "failed");
  line += fmt::format("done in {}", FormatSeconds(seconds));
  if (task.done_bytes > 0) line += ", " + HumanBytes(task.done_bytes);
  if (!detail.empty()) line += fmt::format(", {}", detail);
  return line;
}

/// Lines only, for logs: start, every 10 s of a long task, end.
class PlainReporter final : public Reporter {
 public:
  PlainReporter(Clock& clock, const ReporterOptions& options)
      : tasks_(clock), options_(options), style_{options.color} {}

  TaskId TaskStarted(const TaskInfo& info) override {
    const std::lock_guard lock(mutex_);
    return tasks_.Start(info);
  }
  void TaskAdvanced(TaskId id, std::uint64_t bytes) override {
    constexpr double kSecondsBetweenLines = 10;
    const std::lock_guard lock(mutex_);
    RunningTask* task = tasks_.Find(id);
    if (task == nullptr) return;
    task->done_bytes += bytes;
    const double since = tasks_.SecondsSince(task->last_line);
    if (options_.quiet || since < kSecondsBetweenLines) return;
    task->last_line +=
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(since));
    PrintLog(fmt::format("{}  {}: {}", style_.Stage(task->info.stage), task->info.subject,
                         tasks_.Progress(*task)));
  }
  void TaskFinished(TaskId id, TaskOutcome outcome, std::string_view detail) override {
    const std::lock_guard lock(mutex_);
    const auto task = tasks_.Finish(id);
    if (!task || options_.quiet) return;
    PrintLog(FinishedLine(style_, *task, outcome, detail, tasks_.SecondsSince(task->start)));
  }
  void ChildOutput(TaskId /*id*/, std::string_view line) override {
    if (!options_.verbose) return;
    const std::lock_guard lock(mutex_);
    PrintLog(fmt::format("          | {}", line));
  }
  void Note(std::string_view message) override {
    const std::lock_guard lock(mutex_);
    if (!options_.quiet) PrintLog(fmt::format("note: {}", message));
  }
  void Warn(std::string_view message) override {
    const std::lock_guard lock(mutex_);
    PrintLog(fmt::format("{} {}", style_.Paint("33", "warning:"), message));
  }

 private:
  std::mutex mutex_;
  TaskTable tasks_;
  ReporterOptions options_;
  Style style_;
};

/// Finished tasks scroll by; the last line shows the longest-running task and moves.
class TerminalReporter final : public Reporter {
 public:
  TerminalReporter(Clock& clock, const ReporterOptions& options)
      : clock_(clock), tasks_(clock), options_(options), style_{options.color}, last_draw_(clock.Now()) {}
  ~TerminalReporter() override { Erase(); }

  TaskId TaskStarted(const TaskInfo& info) override {
    const std::lock_guard lock(mutex_);
    const TaskId id = tasks_.Start(info);
    Draw();
    return id;
  }
  void TaskAdvanced(TaskId id, std::uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    RunningTask* task = tasks_.Find(id);
    if (task == nullptr) return;
    task->done_bytes += bytes;
    DrawIfDue();
  }
  void TaskFinished(TaskId id, TaskOutcome outcome, std::string_view detail) override {
    const std::lock_guard lock(mutex_);
    const auto task = tasks_.Finish(id);
    if (!task) return;
    last_child_line_.clear();
    Scroll(FinishedLine(style_, *task, outcome, detail, tasks_.SecondsSince(task->start)));
  }
  void ChildOutput(TaskId /*id*/, std::string_view line) override {
    const std::lock_guard lock(mutex_);
    if (options_.verbose) {
      Scroll(fmt::format("          | {}", line));
    } else {
      last_child_line_ = line;
      DrawIfDue();
    }
  }
  void Note(std::string_view message) override {
    const std::lock_guard lock(mutex_);
    Scroll(fmt::format("note: {}", message));
  }
  void Warn(std::string_view message) override {
    const std::lock_guard lock(mutex_);
    Scroll(fmt::format("{} {}", style_.Paint("33", "warning:"), message));
  }

 private:
  void Erase() {
    if (drawn_) PrintLogRaw("\r\x1b[K");
    drawn_ = false;
  }
  void Scroll(std::string_view line) {
    Erase();
    PrintLog(line);
    Draw();
  }
  void DrawIfDue() {
    constexpr double kSecondsBetweenDraws = 0.1;
    if (tasks_.SecondsSince(last_draw_) >= kSecondsBetweenDraws) Draw();
  }
  void Draw() {
    last_draw_ = clock_.Now();
    if (tasks_.running().empty()) return;
    const RunningTask& task = tasks_.running().begin()->second;
    std::string line =
        fmt::format("{:>8}  {}  {}", task.info.stage, task.info.subject, tasks_.Progress(task));
    if (task.done_bytes == 0)
      line += fmt::format("{}  {}", FormatSeconds(tasks_.SecondsSince(task.start)), last_child_line_);
    const auto width = static_cast<std::size_t>(TerminalWidth()) - 1;
    // Control characters of a compiler's output would move the cursor.
    for (char& c : line) {
      if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    }
    PrintLogRaw(fmt::format("\r\x1b[K{}", std::string_view(line).substr(0, width)));
    drawn_ = true;
  }

  std::mutex mutex_;
  Clock& clock_;
  TaskTable tasks_;
  ReporterOptions options_;
  Style style_;
  std::chrono::steady_clock::time_point last_draw_;
  bool drawn_ = false;
  std::string last_child_line_;
};

/// One object per line; the fields are described in docs/formats/log.md.
class JsonReporter final : public Reporter {
 public:
  JsonReporter(Clock& clock, const ReporterOptions& options) : tasks_(clock), options_(options) {}

  TaskId TaskStarted(const TaskInfo& info) override {
    const std::lock_guard lock(mutex_);
    const TaskId id = tasks_.Start(info);
    Emit({{"event", "started"},
          {"task", id},
          {"stage", info.stage},
          {"subject", info.subject},
          {"total_bytes", info.total_bytes}});
    return id;
  }
  void TaskAdvanced(TaskId id, std::uint64_t bytes) override {
    constexpr double kSecondsBetweenLines = 1;
    const std::lock_guard lock(mutex_);
    RunningTask* task = tasks_.Find(id);
    if (task == nullptr) return;
    task->done_bytes += bytes;
    const double since = tasks_.SecondsSince(task->last_line);
    if (since < kSecondsBetweenLines) return;
    task->last_line +=
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(since));
    Emit({{"event", "progress"}, {"task", id}, {"done_bytes", task->done_bytes}});
  }
  void TaskFinished(TaskId id, TaskOutcome outcome, std::string_view detail) override {
    const std::lock_guard lock(mutex_);
    const auto task = tasks_.Finish(id);
    if (!task) return;
    Emit({{"event", "finished"},
          {"task", id},
          {"stage", task->info.stage},
          {"subject", task->info.subject},
          {"outcome", OutcomeName(outcome)},
          {"detail", detail},
          {"done_bytes", task->done_bytes},
          {"seconds", tasks_.SecondsSince(task->start)}});
  }
  void ChildOutput(TaskId id, std::string_view line) override {
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

 private:
  void Emit(const Json& event) {
    const bool is_task_event = event.contains("task");
    if (options_.quiet && is_task_event) return;
    PrintLog(event.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  std::mutex mutex_;
  TaskTable tasks_;
  ReporterOptions options_;
};

}  // namespace

std::unique_ptr<Reporter> MakeReporter(Clock& clock, const ReporterOptions& options) {
  LogFormat format = options.format;
  if (format == LogFormat::kAuto) {
    format =
        StderrIsTerminal() && !options.in_ci && !options.quiet ? LogFormat::kTerminal : LogFormat::kPlain;
  }
  switch (format) {
    case LogFormat::kTerminal:
      return std::make_unique<TerminalReporter>(clock, options);
    case LogFormat::kJson:
      return std::make_unique<JsonReporter>(clock, options);
    default:
      return std::make_unique<PlainReporter>(clock, options);
  }
}

}  // namespace ptpkg::cli
