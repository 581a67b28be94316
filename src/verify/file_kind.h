#pragma once
// What a file is, by its first bytes. Layer: verify.

#include "support/fs.h"

namespace ptpkg::verify {

/// True when the file begins with the ELF magic number. Errors: those of reading.
Result<bool> IsElfFile(Fs& fs, const AbsPath& path);

/// True for machine code of any system: ELF, Mach-O, PE, and archives of objects (ar). Errors: those of
/// reading. Source: PE format, "Signature"; mach-o/loader.h, fat.h; ar(5).
Result<bool> HoldsMachineCode(Fs& fs, const AbsPath& path);

}  // namespace ptpkg::verify
