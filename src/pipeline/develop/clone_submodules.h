#pragma once
// Checks out the submodules of a clone. Layer: pipeline.

#include "pipeline/develop/clone_git.h"

namespace ptpkg::pipeline {

/// Fetches and checks out the submodules of the repository `folder`, and theirs. A URL that a .gitmodules of
/// any commit had follows the .gitmodules that is checked out. Another URL is the user's, and stays: a note
/// says so. Errors: any from CloneGit::Fetch, kCommandFailed.
Result<void> UpdateSubmodules(const CloneGit& git, const WantedSource& source, const AbsPath& folder);

}  // namespace ptpkg::pipeline
