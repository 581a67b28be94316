#pragma once
// Detects truncated objects, archives and libraries. Layer: builder. Sources: gABI "ELF Header" and "Section
// Header Table"; ar(5).

#include "support/env.h"

namespace ptpkg::builder {

/// True for a file that lacks bytes, according to its own tables. Checks files with the name of an object, an
/// archive or a shared library, and any other file if `executable` is set. Also true if such a name belongs
/// to an empty file, or to one that begins with zeros. GNU as and ld write the ELF header last. So a
/// half-written object has no header, or one that describes more bytes than the file has. False for other
/// formats (LLVM bitcode, a linker script). Errors: kIo.
Result<bool> IsTruncatedObject(Fs& fs, const AbsPath& path, bool executable);

}  // namespace ptpkg::builder
