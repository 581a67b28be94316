#pragma once
// One requirement: text to MatchSpec. Layer: recipe.
// Source: CEP 14 ("name [version [build]]") and CEP 26 (package names).

#include <string>

#include "recipe/recipe.h"
#include "support/result.h"

namespace ptpkg::recipe {

/// Parses "numpy", "numpy >=1.21,<2", "numpy>=1.21", "python 3.11.* *_cpython".
/// Errors (without span): kInvalidInput for a name or version constraint that conda would not take;
/// kUnsupported for a channel ("conda-forge::x") or the bracket form ("x[version=…]").
Result<MatchSpec> ParseMatchSpec(std::string_view text);

/// Lower-case letters, digits, '.', '_' and '-', not beginning with '.' or '-'.
bool IsPackageName(std::string_view name);

/// The one version that `constraint` names: "1.26" of "==1.26", "1.26.*", "=1.26" and "1.26";
/// "" if it allows several.
std::string SingleVersion(std::string_view constraint);

}  // namespace ptpkg::recipe
