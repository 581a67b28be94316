#pragma once
// JSON output of `ptpkg render`. Layer: variant.

#include "recipe/recipe.h"
#include "support/text/json_fwd.h"

namespace ptpkg::variant {

/// An object with the keys name, version, build_number, build_string, hash, hash_input, subdir, noarch
/// (null, "python" or "generic"), skip, variant (object of texts), file_stem (null when skipped),
/// requirements {build, host, run, run_constraints, run_exports: lists of texts}, sources, license and
/// formats. docs/recipe-reference.md, "ptpkg render --json", is the contract with readers.
Json RenderedToJson(const recipe::Recipe& recipe);

}  // namespace ptpkg::variant
