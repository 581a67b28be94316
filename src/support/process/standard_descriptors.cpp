#include "support/process/standard_descriptors.h"

#include <cerrno>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

namespace ptpkg {

Result<void> OpenStandardDescriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // open(2) takes the lowest number that is free: those below are open by now. A program can open
    // /dev/stdout again for writing; with /dev/full, that write fails too.
    const bool is_input = descriptor == STDIN_FILENO;
    const char* device = is_input ? "/dev/null" : "/dev/full";
    if (::open(device, is_input ? O_WRONLY : O_RDONLY) < 0)
      return ErrnoError(errno,
                        fmt::format("cannot open '{}' in place of a closed standard descriptor", device));
  }
  return Ok();
}

}  // namespace ptpkg
