#pragma once
// Finds the files of a clone that an update must not lose. Layer: pipeline.

#include "pipeline/develop/clone_git.h"
#include "pipeline/develop/source_clones.h"

namespace ptpkg::pipeline {

/// Sets `edited`, `edited_in`, `unready` and `unfinished` of `clone`, from its repository and all of its
/// submodules. REQUIRES: `commit` and `wanted` are set. Errors: kCommandFailed, kIo.
Result<void> LookAtFiles(const CloneGit& git, SourceClone& clone);

}  // namespace ptpkg::pipeline
