#pragma once
// Combines all parsers of a running script's output. Layer: builder.

#include <map>
#include <string>
#include <string_view>

#include "builder/script/failure_blocks.h"
#include "builder/script/known_failures.h"
#include "builder/script/memory_shortage.h"
#include "builder/script/step_estimate.h"
#include "support/env.h"

namespace ptpkg::builder {

struct WatchOptions {
  std::string stage;    ///< "build"
  std::string subject;  ///< Key of the remembered steps: "toy-1.0-0".
  std::string log;      ///< Path of the log, for errors.
  int jobs = 1;         ///< Number of jobs that the script got.
  std::uint64_t bytes_per_job = 0;
  std::uint64_t free_bytes = 0;
  /// Environment of the script, for ReplaceFoldersByVariables().
  std::map<std::string, std::string> variables = {};
  bool remembers = true;  ///< False: a partial run, whose time is not representative.
};

/// Progress, remaining time, cause of a failure. For one script; all calls from one thread.
class ScriptWatch {
 public:
  /// Reads the record of the last run, and how often the kernel has run out of memory so far.
  ScriptWatch(Env& env, WatchOptions options);

  /// The script starts. Reports how long it will take, if there is a record of a run.
  void Start(Task& task);
  /// A line of the script's output. Updates the progress of the task.
  void ReadOutputLine(Task& task, std::string_view line);
  /// The script succeeded. Records the times of its steps.
  void Succeeded();
  /// The script ended with `status`, which is not ok. Returns kCommandFailed with the block of the first
  /// command that failed, else the errors that it printed and its last 40 lines, with variables for the
  /// directories of the build. The error includes the path of the log, and a hint if the failure is known.
  Error Failed(const ExitStatus& status);

 private:
  [[nodiscard]] double Seconds() const;
  [[nodiscard]] std::string Context(const ExitStatus& status) const;
  [[nodiscard]] std::string Hint(const MemoryDiagnosis& memory, const std::string& shown) const;

  Env& env_;
  WatchOptions options_;
  std::chrono::steady_clock::time_point start_;
  StepCount count_;
  StepEstimate estimate_;
  FailureBlocks blocks_;
  MemorySigns memory_;
  OomKills kills_before_;
};

}  // namespace ptpkg::builder
