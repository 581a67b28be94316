#pragma once
// A process that is no more, as the owner of what a killed run left behind.

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ptpkg::test {

/// The id of a process that has ended and been reaped.
inline pid_t DeadPid() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  ::waitpid(pid, nullptr, 0);
  return pid;
}

}  // namespace ptpkg::test
