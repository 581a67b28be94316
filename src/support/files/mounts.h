#pragma once
// Reads what is mounted where. Layer: support. Source: proc_pid_mountinfo(5).

#include <string>
#include <vector>

#include "support/files/fs.h"

namespace ptpkg {

struct Mount {
  std::string root;     ///< Directory of the file system that the mount shows: "/".
  std::string point;    ///< Place of the mount: "/sys/fs/cgroup".
  std::string type;     ///< Type of the file system: "cgroup2".
  std::string options;  ///< Options of the file system, not of the mount: "rw,nolock".
};

/// Mounts that this process sees, in the order of mountinfo; none if /proc cannot be read.
std::vector<Mount> ReadMounts(Fs& fs);

}  // namespace ptpkg
