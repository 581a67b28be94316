#pragma once
// What a file is, by its first bytes. Layer: verify.

#include "support/fs.h"

namespace ptpkg::verify {

/// True when the file begins with the ELF magic number. Errors: those of reading.
Result<bool> IsElfFile(Fs& fs, const AbsPath& path);

}  // namespace ptpkg::verify
