#pragma once
// State of a work directory between runs. Layer: builder.
// docs/decisions/0012-resuming-a-build.md gives the reason for each of these files of the cache directory:
//
//   work/<16 hex digits>/
//   - .lease      held by the run that works in it (support/files/lease.h)
//   - state.json  the state in this header
//   - sources     how the sources were prepared (source_record.h)
//   - entered     the directory's state when `ptpkg shell` entered it (resume.h)
//   - d/          the directories of the build (work_layout.h)

#include <cstdint>
#include <string>

#include "support/env.h"

namespace ptpkg::builder {

enum class WorkPhase : std::uint8_t {
  kStarted,    ///< Nothing in the directory is complete.
  kPrepared,   ///< The sources are complete, and no script has run in them.
  kScript,     ///< A script is running, or was ended in some way.
  kInstalled,  ///< The script succeeded. Its installed files leave the directory soon.
};

struct WorkState {
  WorkPhase phase = WorkPhase::kStarted;
  std::string key = {};          ///< Key of the node that ran last.
  std::string subject = {};      ///< "toytorch-1.4.0-py311_cpu_0".
  std::string recipe = {};       ///< Its directory. Another project can build something of the same name.
  std::string place = {};        ///< The directory itself: files built in it contain its path.
  std::string boot_id = {};      ///< Boot id of the machine when the phase began; "" = unknown.
  std::string inputs = {};       ///< Digest of the node's inputs up to the script: 16 digits.
  std::int64_t prepared_ns = 0;  ///< Unix time at which the sources were complete; 0 before kPrepared.

  bool operator==(const WorkState&) const = default;
};

/// State of `work` (the directory with the lease). Errors: kNotFound (there is none), kCorrupt (damaged),
/// kUnsupported (another version of ptpkg wrote it), kIo.
Result<WorkState> ReadWorkState(Fs& fs, const AbsPath& work);
/// Writes whole or not at all; the file is on the disk when this returns.
Result<void> WriteWorkState(Fs& fs, const AbsPath& work, const WorkState& state);

/// /proc/sys/kernel/random/boot_id: differs after each boot, and between machines. "" if unreadable.
std::string BootId(Fs& fs);

/// The current time, in the form of file times.
std::int64_t NowNs(Env& env);

}  // namespace ptpkg::builder
