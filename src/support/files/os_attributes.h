#pragma once
// Extended attributes of files on disk. Layer: support, private to the real file system.

#include "support/path.h"
#include "support/result.h"

namespace ptpkg {

/// Fs::CopyAttributes, of the real file system.
Result<void> CopyAttributesOnDisk(const AbsPath& from, const AbsPath& to);

}  // namespace ptpkg
