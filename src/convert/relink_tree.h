#pragma once
// The relinking step of packing: search paths of one tree, as a task that people see. Layer: convert.

#include "elf/relink.h"

namespace ptpkg::convert {

/// Plans and applies `options` on `tree`; entries get their new sizes and digests.
Result<void> RelinkTree(Env& env, StagedTree& tree, const elf::RelinkOptions& options,
                        const std::string& subject);

}  // namespace ptpkg::convert
