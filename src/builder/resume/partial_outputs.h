#pragma once
// Finds files that an interrupted build was writing. Layer: builder. docs/decisions/0012-resuming-a-build.md
// derives the rule; Ninja's manual, "The Ninja log"; GNU make's manual, "Interrupting or Killing make".

#include <chrono>
#include <vector>

#include "builder/resume/source_record.h"
#include "builder/script/failed_commands.h"

namespace ptpkg::builder {

/// The script and what it had started ended one way or another, or the machine went down.
enum class RunEndKind : std::uint8_t { kProcesses, kMachine };

/// How a run ended, and which commands failed before.
struct Ending {
  RunEndKind kind = RunEndKind::kProcesses;
  FailedCommands failed = {};
};

/// Time before the last write in which an unfinished command may have written to a file. A second
/// command on an output (objcopy, strip, mv) takes less than 10 s, and at most that much work is done again.
inline constexpr std::chrono::seconds kProcessesWindow{10};
/// Data written before a power loss may be empty or zero: the kernel writes it out after 30 s at the
/// latest (dirty_expire_centisecs) and looks each 5 s; some disks take longer.
inline constexpr std::chrono::seconds kMachineWindow{60};

struct PartialOutputs {
  std::vector<RelPath> outputs;  ///< Files that the build made: to be removed.
  std::vector<RelPath> sources;  ///< Files of the sources: no build can resume in the directory.
};

/// `files`: what lies below `root`, where `sources` were prepared. An output is in flight if it was written
/// within the window before the last write of all, or before the first command failed; if a failed one was to
/// make it; or if IsTruncatedObject. A source is in flight if the build has changed it within the window
/// before the last write, or a failed command was to. With kProcesses, outputs below a ".ninja_log" with no
/// Makefile in between are not judged by the window: ninja knows which of its commands ended, and does the
/// others again. Ninja's own logs are never in flight: it repairs them.
Result<PartialOutputs> FindPartialOutputs(Env& env, const AbsPath& root,
                                          const std::vector<source::WalkEntry>& files,
                                          const SourceRecord& sources, const Ending& ending);

}  // namespace ptpkg::builder
