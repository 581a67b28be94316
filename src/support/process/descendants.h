#pragma once
// Kills all descendant processes. Layer: support, internal to supervisor.cpp.
//
// A process can leave its group and its session (setsid, a daemon's double fork), but not its ancestors: an
// orphan becomes a child of the next subreaper above, PR_SET_CHILD_SUBREAPER of prctl(2). Processes that a
// service manager starts on request (systemd-run, docker) descend from that manager, not from ptpkg.

#include <cstdint>

namespace ptpkg::detail {

enum class Descendants : std::int32_t {
  kEnded,  ///< None is left.
  /// Some live on, but /proc does not list them: it belongs to another PID namespace, is not mounted, or
  /// lacks the lists of children (CONFIG_PROC_CHILDREN, which all distributions build).
  kNotListed,
  kNotInTime,  ///< Some were alive after 10 s of SIGKILL: in the midst of a disk or network operation.
};

/// Sends SIGKILL to all descendants and reaps them until none is left, for at most 10 s. Async-signal-safe.
/// REQUIRES: one thread, a subreaper, SIGCHLD blocked, no child whose status is still wanted.
Descendants EndDescendants();

}  // namespace ptpkg::detail
