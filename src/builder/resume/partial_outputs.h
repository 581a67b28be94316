#pragma once
// Finds files that an interrupted build was writing. Layer: builder. docs/decisions/0012-resuming-a-build.md
// derives the rule. Sources: Ninja's manual, "The Ninja log"; GNU make's manual, "Interrupting or Killing
// make".

#include <chrono>
#include <vector>

#include "builder/resume/source_record.h"
#include "builder/script/failed_commands.h"

namespace ptpkg::builder {

/// Either the script and its child processes ended one way or another, or the machine went down.
enum class RunEndKind : std::uint8_t { kProcesses, kMachine };

/// How a run ended, and which commands failed before.
struct Ending {
  RunEndKind kind = RunEndKind::kProcesses;
  FailedCommands failed = {};
};

/// Time before the last write in which an unfinished command could have written to a file. A second command
/// on an output (objcopy, strip, mv) takes less than 10 s, and resuming repeats at most that much work.
inline constexpr std::chrono::seconds kProcessesWindow{10};
/// Data written before a power loss can be empty or zero: the kernel writes it out after 30 s at the latest
/// (dirty_expire_centisecs) and checks every 5 s. Some disks take longer.
inline constexpr std::chrono::seconds kMachineWindow{60};

struct PartialOutputs {
  std::vector<RelPath> outputs;  ///< Files that the build made, to be removed.
  std::vector<RelPath> sources;  ///< Source files: no build can resume in the directory.
};

/// `files`: everything below `root`, the directory of the prepared `sources`. An output is partial in one of
/// these cases:
/// - the build wrote it within the window before the last write of all, or before the first command failed
/// - a failed command was to make it
/// - IsTruncatedObject is true
///
/// A source is partial if the build changed it within the window before the last write, or a failed command
/// was to change it. With kProcesses, the window does not apply to outputs below a ".ninja_log" with no
/// Makefile in between: ninja records which of its commands ended, and repeats the others. Ninja's own logs
/// are never partial, because it repairs them.
Result<PartialOutputs> FindPartialOutputs(Env& env, const AbsPath& root,
                                          const std::vector<source::WalkEntry>& files,
                                          const SourceRecord& sources, const Ending& ending);

}  // namespace ptpkg::builder
