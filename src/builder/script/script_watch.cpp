// One place where all readers of a script's output meet: steps, failed commands, memory. Each line goes
// through them in a fixed order. The count comes first, because a tool that starts to count ends the failures
// before it.
//
// The error of a failed script is put together from the strongest evidence: a memory shortage, then the first
// failed command, else the last lines. Errors of compilers that scrolled out of these are shown above them.
// Hints of known failures apply only to lines that are shown.

#include "builder/script/script_watch.h"

#include <fmt/core.h>

#include "builder/script/script.h"
#include "support/text/text.h"

namespace ptpkg::builder {

ScriptWatch::ScriptWatch(Env& env, WatchOptions options)
    : env_(env),
      options_(std::move(options)),
      start_(env.clock.Now()),
      estimate_(options_.remembers ? ReadStepRecord(env, options_.subject) : std::nullopt, options_.jobs),
      kills_before_(ReadOomKills(env.fs)) {}

double ScriptWatch::Seconds() const {
  return std::chrono::duration<double>(env_.clock.Now() - start_).count();
}

void ScriptWatch::Start(Task& task) {
  start_ = env_.clock.Now();
  const StepProgress progress = estimate_.At(count_.state(), 0);
  if (progress.seconds_left) task.Steps(progress);
}

void ScriptWatch::ReadOutputLine(Task& task, std::string_view line) {
  const StepCount::Change change = count_.ReadOutputLine(line);
  // Before the line itself is read: it belongs to the tool that starts here.
  if (change == StepCount::Change::kRestarted) blocks_.Restart();
  blocks_.ReadOutputLine(line);
  memory_.ReadOutputLine(line);
  if (change != StepCount::Change::kNone) task.Steps(estimate_.At(count_.state(), Seconds()));
}

void ScriptWatch::Succeeded() {
  if (!options_.remembers) return;
  if (const auto record = estimate_.Finish(Seconds())) WriteStepRecord(env_, options_.subject, *record);
}

std::string ScriptWatch::Context(const ExitStatus& status) const {
  const std::string& stage = options_.stage;
  const std::string block = blocks_.Block();
  if (!block.empty()) {
    return fmt::format("while running the {} script; the first command that failed, from its log '{}':{}",
                       stage, options_.log, block);
  }
  const std::string end = LastLines(status.output);
  std::string before;
  for (const std::string& error : blocks_.errors()) {
    if (end.find(error) == std::string::npos) before += error;
  }
  if (!before.empty()) before += "\n  ...";
  if (end.empty() && before.empty()) {
    return fmt::format("while running the {} script, which printed nothing; log: '{}'", stage, options_.log);
  }
  return fmt::format("while running the {} script; the last lines of its log '{}':{}{}", stage, options_.log,
                     before, end);
}

/// Only lines that the error shows are matched with the table: the script may have tolerated others.
std::string ScriptWatch::Hint(const MemoryDiagnosis& memory, const std::string& shown) const {
  std::string log = fmt::format("full output: '{}'", options_.log);
  if (!memory.what.empty()) return fmt::format("{}; {}", memory.hint, log);
  const Result<KnownFailures> known = KnownFailures::BuiltIn();
  if (!known) return log;  // a test reads the table
  for (const std::string& line : SplitLines(shown)) {
    if (const KnownFailure* row = known->Match(line)) return fmt::format("{}; {}", row->hint, log);
  }
  return log;
}

Error ScriptWatch::Failed(const ExitStatus& status) {
  const MemoryDiagnosis memory = DiagnoseMemoryShortage(memory_, status,
                                                        {.before = kills_before_,
                                                         .after = ReadOomKills(env_.fs),
                                                         .jobs = options_.jobs,
                                                         .bytes_per_job = options_.bytes_per_job,
                                                         .free_bytes = options_.free_bytes});
  const std::string context = Context(status);
  const std::string cause = memory.what.empty() ? "" : ": " + memory.what;
  return Error(ErrorCode::kCommandFailed, fmt::format("the {} script of '{}' {}{}", options_.stage,
                                                      options_.subject, ExitSummary(status), cause))
      .WithContext(ReplaceFoldersByVariables(context, options_.variables))
      .WithHint(Hint(memory, context));
}

}  // namespace ptpkg::builder
