#pragma once
// Finds the files of a clone that an update must not lose. Layer: pipeline.

#include "pipeline/develop/clone_git.h"
#include "pipeline/develop/source_clones.h"

namespace ptpkg::pipeline {

/// Sets `edited`, `edited_in`, `unready` and `unfinished` of `clone`, from its repository and, with
/// `submodules`, from all of its submodules. REQUIRES: `commit` and `wanted` are set. Errors: kCommandFailed,
/// kIo.
Result<void> LookAtFiles(const CloneGit& git, bool submodules, SourceClone& clone);

/// Untracked files, also ignored ones, that the checkout of `wanted` and its submodules would replace by
/// others. Fetches in submodules that lack their commit. A submodule whose URL changed may still lack it, and
/// is left out: UpdateSubmodules writes over no such file, either. Adds the repository to `unfinished` if
/// its files are equal to the checkout's. Errors: kCommandFailed, kIo.
Result<std::vector<std::string>> FilesInTheWay(const CloneGit& git, bool submodules, SourceClone& clone);

}  // namespace ptpkg::pipeline
