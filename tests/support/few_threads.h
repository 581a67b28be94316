#pragma once
// A process in which starting threads fails.

#include <cstdint>
#include <fstream>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace ptpkg::test {

/// Limits this process to `threads` more, roughly, and ends it with 0 if `body` returns true, else 1; 98 if
/// there could be no limit. Each thread takes 64 MiB of address space for its stack, and there is no more:
/// they fail to start as under a limit on processes, for root too.
template <class Body>
[[noreturn]] void ExitWithThreads(std::uint64_t threads, Body body) {
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

/// `body` returns true where only `threads` more can start. It runs in a new process of this program: a fork
/// would have the pool of an earlier test without its threads, and wait for them.
/// Skips the test in a program with a sanitizer: its shadow memory does not fit into the limit.
template <class Body>
void ExpectWithThreads(std::uint64_t threads, Body body) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "no limit on memory with a sanitizer";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ExitWithThreads(threads, body), ::testing::ExitedWithCode(0), "") << threads;
}

}  // namespace ptpkg::test
