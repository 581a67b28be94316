// Real processes: each closes descriptors of its own.

#include "support/process/standard_descriptors.h"

#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/temp_dir.h"

namespace ptpkg::test {
namespace {

/// True if `run` is true in a process of its own.
bool InChild(const std::function<bool()>& run) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run() ? 0 : 1);
  int status = 1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

/// True for /dev/null as descriptor 0, and /dev/full as another one.
bool IsInPlaceOfAClosedOne(int descriptor) {
  const unsigned minor = descriptor == 0 ? 3 : 7;
  struct stat stat {};
  return ::fstat(descriptor, &stat) == 0 && S_ISCHR(stat.st_mode) && stat.st_rdev == makedev(1, minor);
}

TEST(StandardDescriptors, ClosedOnesAreDevicesAndFail) {
  for (int closed = 0; closed < 8; ++closed) {
    EXPECT_TRUE(InChild([&] {
      const auto is_closed = [&](int descriptor) { return (closed >> descriptor & 1) != 0; };
      const int file = ::open("/", O_RDONLY);
      for (int descriptor = 0; descriptor < 3; ++descriptor) {
        ::dup2(file, descriptor);
        if (is_closed(descriptor)) ::close(descriptor);
      }
      bool good = OpenStandardDescriptors().has_value();
      for (int descriptor = 0; descriptor < 3; ++descriptor)
        good = good && IsInPlaceOfAClosedOne(descriptor) == is_closed(descriptor);
      char byte = 0;
      return good && ::read(0, &byte, 1) == -1 && ::write(1, &byte, 1) == -1 && ::write(2, &byte, 1) == -1;
    })) << closed;
  }
}

TEST(StandardDescriptors, NoDevice) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can change the root directory";
  const TempDir dir;
  EXPECT_TRUE(InChild([&] {
    ::close(0);
    if (::chroot(dir.path().c_str()) != 0) return false;
    const auto opened = OpenStandardDescriptors();
    return !opened && opened.error().code() == ErrorCode::kNotFound;
  }));
}

}  // namespace
}  // namespace ptpkg::test
