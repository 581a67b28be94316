#pragma once
// Finds remaining child processes and their open files in /proc. Layer: support, internal to process. cpp.

#include <sys/types.h>
#include <vector>

#include "support/files/fs.h"
#include "support/process/process.h"

namespace ptpkg::detail {

/// All descendants of `pid` that have not ended, parents before children, with the regular files below
/// `watched` that they have open for writing and that still have a name. The paths begin with the directory
/// as it is named there, also where that is reached by a symlink. A mapped file whose descriptor is closed is
/// not seen. Empty where /proc does not tell; processes may come and go meanwhile.
std::vector<OrphanProcess> FindOrphanProcesses(Fs& fs, pid_t pid, const std::vector<AbsPath>& watched);

}  // namespace ptpkg::detail
