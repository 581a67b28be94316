#pragma once
// Combines all parsers of a running script's output. Layer: builder.

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
  std::string subject;  ///< Subject whose steps are remembered: "toy-1.0-0".
  std::string log;      ///< Path of the log, for errors.
  int jobs = 1;         ///< Number that the script was told to use.
  std::uint64_t bytes_per_job = 0;
  std::uint64_t free_bytes = 0;
  bool remembers = true;  ///< False: a run of a part, whose time is not representative.
};

/// Progress, time left, why it failed. For one script; all calls from one thread.
class ScriptWatch {
 public:
  /// Reads the record of the last run, and how often the kernel ran out of memory so far.
  ScriptWatch(Env& env, WatchOptions options);

  /// The script starts: tells how long it will take, if a run is remembered.
  void Start(Task& task);
  /// A line of its output: tells the task where it stands.
  void ReadOutputLine(Task& task, std::string_view line);
  /// The script ended well: remembers the times of its steps.
  void Succeeded();
  /// The script ended with `status`, which is not ok: kCommandFailed with the block of the first command that
  /// failed, else the errors that it printed and its last 40 lines; the path of the log; what is known about
  /// such a failure as hint.
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
