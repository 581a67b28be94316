#pragma once
// Recognises self-relocating files, which must not get a search path. Layer: elf.

#include <string>

#include "elf/read/image.h"

namespace ptpkg::elf {

/// "a dynamic loader" (glibc's ld.so, musl's libc.so, under any name), "a static position-independent
/// program", or "" for all other files. Errors: kCorrupt, kIo. Cost: none for a file that needs libraries or
/// has an interpreter; else the names of its dynamic symbols.
Result<std::string> SelfLoadingKind(File& file, const Image& image);

}  // namespace ptpkg::elf
