#pragma once
// A child process in which starting threads fails.

#include <cstdint>
#include <fstream>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ptpkg::test {

/// Runs `body` in a child that can start `threads` more, roughly: each takes 64 MiB of address space for
/// its stack, and there is no more. They fail to start as under a limit on processes, for root too. What
/// `body` returns as 0 or 1; 128 + the signal that ended the child; 98 if there could be no limit.
template <class Body>
int RunWithThreads(std::uint64_t threads, Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr std::uint64_t kStack = 64U << 20U;
    pthread_attr_t attributes{};
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, kStack);
    ::pthread_setattr_default_np(&attributes);
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t used = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const rlim_t bytes = used + threads * kStack + kStack / 2;
    const rlimit limit{bytes, bytes};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(98);
    ::_exit(body() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace ptpkg::test
