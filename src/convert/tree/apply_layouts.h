#pragma once
// Applies search-path layouts to a tree, with progress. Layer: convert.

#include "elf/edit/relink_tree.h"

namespace ptpkg::convert {

struct RelinkLabels {
  std::string subject;
  /// The recipe's key that the rules come from. A warning names each of its rules that decides no file.
  std::string layout = {};
  /// Writes a note for each changed search path, because nobody expects a finished artifact to change.
  bool tells_paths = false;
};

/// Plans and applies `options` on `tree`. Entries get their new sizes and digests. Errors: as PlanRelink and
/// ApplyRelink.
Result<void> RelinkTree(Env& env, StagedTree& tree, const elf::RelinkOptions& options,
                        const RelinkLabels& labels);

}  // namespace ptpkg::convert
