#pragma once
// Reads CPU and memory limits, including cgroups. Layer: support. Sources: sched_getaffinity(2), proc(5),
// meminfo and vmstat. Also the kernel's cgroup-v2.rst (cpu.max, memory.max, memory.high, memory.events) and
// cgroup-v1 (cpu.cfs_*, memory.limit_in_bytes, memory.oom_control).

#include <cstdint>
#include <optional>

#include "support/files/fs.h"

namespace ptpkg {

struct MachineLimits {
  int cores = 1;                                 ///< Cores that this process may run on.
  std::optional<double> group_cores = {};        ///< Processor time that its control groups allow, in cores.
  std::optional<std::uint64_t> free_bytes = {};  ///< Memory available without swapping (MemAvailable).
  std::optional<std::uint64_t> group_limit_bytes = {};  ///< The tightest memory limit of its control groups.
  std::optional<std::uint64_t> group_free_bytes = {};   ///< The least remaining memory of any group.
};

/// Number of processes that the kernel has killed for lack of memory since an unspecified start, for
/// comparing two times.
struct OomKills {
  std::optional<std::uint64_t> of_group = {};    ///< In this process's control group and those below it.
  std::optional<std::uint64_t> of_machine = {};  ///< Other containers' processes count here too.
};

/// Never fails: unreadable values are unknown. The process's own control group and all above it count, in
/// both versions, as far as /sys shows them. Memory that a group could drop at once (inactive pages of files)
/// counts as free.
MachineLimits ReadMachineLimits(Fs& fs);
OomKills ReadOomKills(Fs& fs);

/// CoresOf(ReadMachineLimits(fs)), without reading memory limits.
int ReadUsableCores(Fs& fs);

/// Threads that can make use of the processor: the cores, or the groups' share of them, rounded up. At
/// least 1.
int CoresOf(const MachineLimits& limits);

}  // namespace ptpkg
