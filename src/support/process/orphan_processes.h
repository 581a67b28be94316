#pragma once
// Finds remaining child processes and their open files in /proc. Layer: support, internal to process.cpp.

#include <sys/types.h>
#include <vector>

#include "support/files/fs.h"
#include "support/process/process.h"

namespace ptpkg::detail {

/// All descendants of `pid` that have not ended, parents before children. For each, lists the regular files
/// below `watched` that it has open for writing and that still have a name. Paths begin with the directory as
/// given in `watched`, even if it is a symlink. Mapped files with a closed descriptor are not seen. Empty
/// where /proc lists no children; processes can come and go meanwhile.
std::vector<OrphanProcess> FindOrphanProcesses(Fs& fs, pid_t pid, const std::vector<AbsPath>& watched);

}  // namespace ptpkg::detail
