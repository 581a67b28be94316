#pragma once
// JSON output of `ptpkg render`. Layer: variant.

#include "recipe/recipe.h"
#include "support/text/json_fwd.h"

namespace ptpkg::variant {

/// An object with these keys: name, version, build_number, build_string, hash, hash_input, subdir, noarch
/// (null, "python" or "generic"), skip, variant (object of texts), file_stem (null when skipped),
/// requirements, sources, license and formats. The object `requirements` has build, host, run,
/// run_constraints and run_exports, each a list of texts. docs/recipe-reference.md, "ptpkg render --json", is
/// the contract with readers.
Json RenderedToJson(const recipe::Recipe& recipe);

}  // namespace ptpkg::variant
