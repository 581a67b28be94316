#pragma once
// Detects truncated objects, archives and libraries. Layer: builder. Sources: gABI "ELF Header" and "Section
// Header Table"; ar(5).

#include "support/env.h"

namespace ptpkg::builder {

/// True if `path` has the name of an object, an archive or a shared library, or `executable` is set, and its
/// own tables say that bytes are missing; and if such a name belongs to an empty file, or to one that begins
/// with zeros. GNU as and ld write the ELF header last: a half-written object has none, or one that promises
/// more than there is. What is of another format (LLVM bitcode, a linker script) is not judged. Errors: kIo.
Result<bool> IsTruncatedObject(Fs& fs, const AbsPath& path, bool executable);

}  // namespace ptpkg::builder
