#pragma once
// Filters and patches an unpacked source, and merges it into the tree. Layer: source.

#include <vector>

#include "recipe/recipe.h"
#include "source/patch_list.h"
#include "support/env.h"

namespace ptpkg::source {

/// Moves the unpacked `source` from `part` into `tree`, below its target_directory, filtered and with
/// `patches` applied. Patches of earlier sources are taken from `tree`. Errors: as for Prepare,
/// with filters, patches and target_directory.
Result<void> PlaceSource(Env& env, const recipe::Source& source, const std::vector<PatchFile>& patches,
                         const AbsPath& part, const AbsPath& tree);

}  // namespace ptpkg::source
