#include "cli/safe_reporter.h"

#include "support/display_text.h"

namespace ptpkg::cli {

namespace {

class SafeReporter final : public Reporter {
 public:
  explicit SafeReporter(Reporter& inner) : inner_(inner) {}

  TaskId TaskStarted(const TaskInfo& info) override {
    TaskInfo shown = info;
    shown.subject = DisplayLine(info.subject);
    shown.how = DisplayLine(info.how);
    shown.log_file = DisplayLine(info.log_file);
    return inner_.TaskStarted(shown);
  }
  void TaskAdvanced(TaskId id, std::uint64_t bytes) override { inner_.TaskAdvanced(id, bytes); }
  void TaskSteps(TaskId id, const StepProgress& steps) override { inner_.TaskSteps(id, steps); }
  void TaskFinished(TaskId id, TaskOutcome outcome, std::string_view detail) override {
    inner_.TaskFinished(id, outcome, DisplayLine(detail));
  }
  void ChildOutput(TaskId id, std::string_view line) override { inner_.ChildOutput(id, DisplayLine(line)); }
  void Note(std::string_view message) override { inner_.Note(DisplayText(MaskCredentials(message))); }
  void Warn(std::string_view message) override { inner_.Warn(DisplayText(MaskCredentials(message))); }

 private:
  Reporter& inner_;
};

}  // namespace

std::unique_ptr<Reporter> MakeSafeReporter(Reporter& inner) { return std::make_unique<SafeReporter>(inner); }

}  // namespace ptpkg::cli
