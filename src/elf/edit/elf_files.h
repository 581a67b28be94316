#pragma once
// Finds the ELF files of a directory. Layer: elf.

#include "model/staged_tree.h"
#include "support/env.h"

namespace ptpkg::elf {

/// The ELF files below `root` as a tree of regular files without digests. Skips everything else, symlinks
/// included. Does not even open C and C++ headers and Python sources. Errors: as FindFilesByMagic. Cost:
/// opens each file once, reads 4 bytes of it.
Result<StagedTree> FindElfFiles(Env& env, const AbsPath& root);

}  // namespace ptpkg::elf
