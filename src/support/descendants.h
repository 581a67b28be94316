#pragma once
// Ends all processes that descend from the calling one, wherever they went. Layer: support, internal to
// supervisor.cpp.
//
// A process can leave its group and its session (setsid, a daemon's double fork), but not its ancestors:
// whoever loses its parent becomes a child of the next subreaper above, PR_SET_CHILD_SUBREAPER of prctl(2).
// What a service manager starts on somebody's behalf (systemd-run, docker) descends from that manager, not
// from us.

namespace ptpkg::detail {

/// Sends SIGKILL to all descendants and reaps them until none is left, for at most 10 s (a process in the
/// midst of a disk or network operation may not die sooner). Needs /proc with the lists of children
/// (CONFIG_PROC_CHILDREN, as all distributions build it), mounted for our PID namespace; else it does
/// nothing. Async-signal-safe. REQUIRES: one thread, a subreaper, SIGCHLD blocked, no child whose status is
/// still wanted.
void EndDescendants();

}  // namespace ptpkg::detail
