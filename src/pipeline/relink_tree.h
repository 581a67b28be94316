#pragma once
// The relink stage: search paths of one tree, as a task that people see. Layer: pipeline.

#include "elf/relink.h"

namespace ptpkg::pipeline {

/// Plans and applies `options` on `tree`; entries get their new sizes and digests.
Result<void> RelinkTree(Env& env, StagedTree& tree, const elf::RelinkOptions& options,
                        const std::string& subject);

}  // namespace ptpkg::pipeline
