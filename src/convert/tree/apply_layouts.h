#pragma once
// Applies search-path layouts to a tree, with progress. Layer: convert.

#include "elf/edit/relink_tree.h"

namespace ptpkg::convert {

struct RelinkLabels {
  std::string subject;
  /// The recipe's key that the rules come from: a rule of it that decides no file is warned of.
  std::string layout = {};
  /// A note names each search path that changes: nobody expects a finished artifact to change.
  bool tells_paths = false;
};

/// Plans and applies `options` on `tree`; entries get their new sizes and digests. Errors: those of
/// PlanRelink and ApplyRelink.
Result<void> RelinkTree(Env& env, StagedTree& tree, const elf::RelinkOptions& options,
                        const RelinkLabels& labels);

}  // namespace ptpkg::convert
