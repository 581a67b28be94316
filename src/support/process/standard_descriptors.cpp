#include "support/process/standard_descriptors.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace ptpkg {

Result<void> OpenStandardDescriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // open(2) takes the lowest number that is free: those below are open by now.
    if (::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
      return ErrnoError(errno, "cannot open '/dev/null' in place of a closed standard descriptor");
  }
  return Ok();
}

}  // namespace ptpkg
