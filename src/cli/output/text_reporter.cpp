// Lines of finished tasks, for people. A rerun has dozens of tasks with nothing to do. Such a task is held
// back (held_) and counted with its successors, until another line shows that the row has ended. Then one
// line stands for all of them.

#include "cli/output/text_reporter.h"

#include <fmt/core.h>

#include "cli/output/text_layout.h"

namespace ptpkg::cli {

namespace {

/// A step of another task, which tells of itself; the log hears of it only where it took long.
bool IsMinor(const FinishedTask& task) {
  constexpr double kLong = 2;  // seconds
  return task.seconds < kLong && (task.stage == "unpack" || task.stage == "hash");
}

}  // namespace

TaskId TextReporter::TaskStarted(const TaskInfo& info) {
  const std::lock_guard lock(mutex_);
  const TaskId id = tasks_.Start(info);
  last_line_ = clock_.Now();
  // A new task ends the silence that Settle() began.
  settled_ = false;
  if (!options_.quiet) {
    for (const std::string& line : StartedLines(CurrentStyle(), info, Shown(info.log_file))) WriteLine(line);
  }
  AfterLines();
  return id;
}

void TextReporter::TaskAdvanced(TaskId id, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  RunningTask* task = tasks_.Find(id);
  if (task == nullptr) return;
  task->done_bytes += bytes;
  OnProgress();
}

void TextReporter::TaskSteps(TaskId id, const StepProgress& steps) {
  const std::lock_guard lock(mutex_);
  RunningTask* task = tasks_.Find(id);
  if (task == nullptr) return;
  task->steps = steps;
  task->steps_at = clock_.Now();
  OnProgress();
}

void TextReporter::TaskFinished(TaskId id, TaskOutcome outcome, std::string_view detail) {
  const std::lock_guard lock(mutex_);
  auto task = tasks_.Finish(id);
  // With --quiet a failed task has no line either: the error of the run tells of it.
  if (!task || options_.quiet) return;
  last_line_ = clock_.Now();
  FinishedTask finished{.stage = std::move(task->info.stage),
                        .subject = std::move(task->info.subject),
                        .outcome = outcome,
                        .detail = std::string(detail),
                        .seconds = tasks_.SecondsSince(task->start),
                        .done_bytes = task->done_bytes};
  if (outcome != TaskOutcome::kSkipped && IsMinor(finished) && !options_.verbose) {
    // It was shown while it ran; why it failed is told by the task that it is part of.
  } else if (outcome != TaskOutcome::kSkipped || options_.verbose || detail.starts_with("would run")) {
    // The stages of a dry run are its result, so each keeps a line.
    WriteLine(FinishedLine(CurrentStyle(), finished));
  } else if (held_) {
    ++held_count_;
    held_for_one_reason_ = held_for_one_reason_ && held_->detail == detail;
  } else {
    held_ = std::move(finished);
    held_count_ = 1;
    held_for_one_reason_ = true;
  }
  AfterLines();
}

void TextReporter::ChildOutput(TaskId id, std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (options_.verbose) {
    WriteLine(fmt::format("          | {}", line));
    AfterLines();
    return;
  }
  RunningTask* task = tasks_.Find(id);
  if (task == nullptr) return;
  task->child_line = line;
  OnProgress();
}

void TextReporter::Note(std::string_view message) {
  const std::lock_guard lock(mutex_);
  if (options_.quiet) return;
  constexpr std::size_t kIndent = 6;  // "note: "
  const std::optional<std::size_t> width = sink_.Width();
  const std::string text = width
                               ? WrapWords(message, {.width = *width, .indent = kIndent, .already = kIndent})
                               : std::string(message);
  WriteLine(fmt::format("note: {}", text));
  AfterLines();
}

void TextReporter::Warn(std::string_view message) {
  const std::lock_guard lock(mutex_);
  constexpr std::size_t kIndent = 9;  // "warning: "
  const std::optional<std::size_t> width = sink_.Width();
  const std::string text = width
                               ? WrapWords(message, {.width = *width, .indent = kIndent, .already = kIndent})
                               : std::string(message);
  WriteLine(fmt::format("{} {}", CurrentStyle().Paint("33", "warning:"), text));
  AfterLines();
}

void TextReporter::Tick() {
  // Nobody knows whether the row has ended while the next stage computes. After this time it is printed.
  constexpr double kLongestHeld = 1;  // seconds
  const std::lock_guard lock(mutex_);
  // The shell of 'ptpkg shell' has the terminal to itself: a line would appear between the keys that its user
  // types.
  if (settled_) return;
  if (held_ && tasks_.SecondsSince(last_line_) > kLongestHeld) {
    WriteHeldBack();
    AfterLines();
  }
  OnTick();
}

void TextReporter::Settle() {
  const std::lock_guard lock(mutex_);
  BeforeLines();
  WriteHeldBack();
  settled_ = true;
}

std::string TextReporter::Shown(const std::string& path) const {
  const std::string below = options_.cwd + "/";
  return !options_.cwd.empty() && path.starts_with(below) ? path.substr(below.size()) : path;
}

RunningText TextReporter::TextOf(const RunningTask& task) const {
  return {.task = &task,
          .seconds = tasks_.SecondsSince(task.start),
          .child_line = task.child_line,
          .steps_age = task.steps ? tasks_.SecondsSince(task.steps_at) : 0};
}

Style TextReporter::CurrentStyle() { return {.color = options_.color, .width = sink_.Width()}; }

/// The order keeps the log true: the moving line goes first, then come lines held back so far, which are
/// older.
void TextReporter::WriteLine(std::string_view line) {
  BeforeLines();
  WriteHeldBack();
  sink_.Write(fmt::format("{}\n", line));
  last_line_ = clock_.Now();
}

void TextReporter::WriteHeldBack() {
  if (!held_) return;
  BeforeLines();
  const Style style = CurrentStyle();
  // One line can't give several reasons.
  const std::string reason = held_for_one_reason_ ? held_->detail : "nothing to do";
  const std::string line =
      held_count_ == 1 ? FinishedLine(style, *held_) : FoldedLine(style, held_count_, reason);
  held_.reset();
  sink_.Write(line + "\n");
}

}  // namespace ptpkg::cli
