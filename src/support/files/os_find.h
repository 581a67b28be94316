#pragma once
// FindFilesByMagic for the real file system. Layer: support, private to it.

#include "support/files/find_files.h"

namespace ptpkg {

/// Like MagicFinder::FindByMagic.
Result<std::vector<FoundFile>> FindByMagicOnDisk(const AbsPath& root, const FileFilter& wanted, int jobs,
                                                 const CancelToken& cancel);

}  // namespace ptpkg
