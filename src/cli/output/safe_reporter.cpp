// Text of build scripts, archives and servers passes here on the way from the Env to any reporter. So no
// reporter has to think of hostile text (context.cpp makes the chain). Layer: cli.

#include "cli/output/safe_reporter.h"

#include "support/secret.h"
#include "support/text/display_text.h"

namespace ptpkg::cli {

namespace {

// Masked before they are shortened: a part of a token would be recognised no more.
std::string SafeLine(std::string_view line) { return DisplayLine(MaskAllSecrets(line)); }
std::string SafeText(std::string_view text) { return DisplayText(MaskAllSecrets(text)); }

class SafeReporter final : public Reporter {
 public:
  explicit SafeReporter(Reporter& inner) : inner_(inner) {}

  // The stage is a word of ours. Subjects and files can be named by an archive or a recipe.
  TaskId TaskStarted(const TaskInfo& info) override {
    TaskInfo shown = info;
    shown.subject = SafeLine(info.subject);
    shown.how = SafeLine(info.how);
    shown.log_file = SafeLine(info.log_file);
    return inner_.TaskStarted(shown);
  }
  void TaskAdvanced(TaskId id, std::uint64_t bytes) override { inner_.TaskAdvanced(id, bytes); }
  void TaskSteps(TaskId id, const StepProgress& steps) override { inner_.TaskSteps(id, steps); }
  void TaskFinished(TaskId id, TaskOutcome outcome, std::string_view detail) override {
    inner_.TaskFinished(id, outcome, SafeLine(detail));
  }
  void ChildOutput(TaskId id, std::string_view line) override { inner_.ChildOutput(id, SafeLine(line)); }
  void Note(std::string_view message) override { inner_.Note(SafeText(message)); }
  void Warn(std::string_view message) override { inner_.Warn(SafeText(message)); }

 private:
  Reporter& inner_;
};

}  // namespace

std::unique_ptr<Reporter> MakeSafeReporter(Reporter& inner) { return std::make_unique<SafeReporter>(inner); }

}  // namespace ptpkg::cli
