#pragma once
// State of a work directory between runs. Layer: builder.
// docs/decisions/0012-resuming-a-build.md gives the reason for each of these files of the cache directory:
//
//           work/<16 hex digits>/.lease       held by the run that works in it (support/files/lease.h)
//                                state.json   this
//                                sources      how the sources were prepared (source_record.h)
//                                entered      what was there when `ptpkg shell` entered it (resume.h)
//                                d/           the directories of the build (work_layout.h)

#include <cstdint>
#include <string>

#include "support/env.h"

namespace ptpkg::builder {

enum class WorkPhase : std::uint8_t {
  kStarted,    ///< Nothing in the directory is whole.
  kPrepared,   ///< The sources are, and no script has run in them.
  kScript,     ///< A script runs, or was ended in some way.
  kInstalled,  ///< The script ended well. What it installed is not in the directory for long.
};

struct WorkState {
  WorkPhase phase = WorkPhase::kStarted;
  std::string key = {};          ///< Key of the node that ran last.
  std::string subject = {};      ///< "toytorch-1.4.0-py311_cpu_0".
  std::string recipe = {};       ///< Its directory. Another project may build something of the same name.
  std::string place = {};        ///< The directory itself: what is built in it holds its path.
  std::string boot_id = {};      ///< Boot id of the machine when the phase began; "" = unknown.
  std::string inputs = {};       ///< Digest of the node's inputs up to the script: 16 digits.
  std::int64_t prepared_ns = 0;  ///< Unix time at which the sources were whole; 0 before kPrepared.

  bool operator==(const WorkState&) const = default;
};

/// State of `work` (the directory with the lease). Errors: kNotFound (there is none), kCorrupt (damaged),
/// kUnsupported (another version of ptpkg wrote it), kIo.
Result<WorkState> ReadWorkState(Fs& fs, const AbsPath& work);
/// Whole or not at all, and on the disk when this returns.
Result<void> WriteWorkState(Fs& fs, const AbsPath& work, const WorkState& state);

/// /proc/sys/kernel/random/boot_id: differs after each boot, and between machines. "" where it cannot be
/// read.
std::string BootId(Fs& fs);

/// Now, as file times are.
std::int64_t NowNs(Env& env);

}  // namespace ptpkg::builder
