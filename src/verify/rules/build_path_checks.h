#pragma once
// Finds build paths in finished files. Layer: verify.

#include <string>
#include <vector>

#include "model/finding.h"
#include "model/staged_tree.h"
#include "support/env.h"

namespace ptpkg::verify {

/// The `forbidden_paths` that can be searched for: without '/' at the end, and not "/" itself.
std::vector<std::string> SearchableBuildPaths(const std::vector<std::string>& forbidden_paths);

/// Appends the findings of one file, or of a link, as CheckBuildPaths does. `paths`: of
/// SearchableBuildPaths; empty: nothing is read. Errors: kIo.
Result<void> SearchBuildPaths(File& file, const TreeEntry& entry, const std::vector<std::string>& paths,
                              std::vector<Finding>& findings);
void SearchLinkTarget(const TreeEntry& entry, const std::vector<std::string>& paths,
                      std::vector<Finding>& findings);

/// Appends one "artifact-build-path" finding per file and path of `forbidden_paths` that occurs in its
/// content or link target. A path counts only where it ends: "/b/x" is not found in "/b/xy", but in "/b/x/y".
/// And one "artifact-nvcc-temporary" per file that names one of nvcc's temporary files; without
/// `forbidden_paths`, which a build gives, nothing is searched. Reads every file once, in parallel
/// (env.jobs), 1 MiB at a time. Errors: kIo, kCancelled.
Result<void> CheckBuildPaths(Env& env, const StagedTree& tree,
                             const std::vector<std::string>& forbidden_paths, std::vector<Finding>& findings);

}  // namespace ptpkg::verify
