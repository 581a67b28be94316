#pragma once
// Computes the version that PyTorch's build will use. Layer: builder. Sources: PyTorch's
// tools/generate_torch_version.py (PYTORCH_BUILD_VERSION, PYTORCH_BUILD_NUMBER) and the scripts of its
// release builds (OVERRIDE_PACKAGE_VERSION).

#include <map>
#include <optional>
#include <string>

#include "recipe/recipe.h"

namespace ptpkg::builder {

/// True if PyTorch's own build makes the package `name`.
[[nodiscard]] bool IsTorch(std::string_view name);

/// Sets PYTORCH_BUILD_VERSION and PYTORCH_BUILD_NUMBER in `variables`, which hold `script.env` of `recipe`.
/// Does nothing unless the recipe is PyTorch's and makes a package. OVERRIDE_PACKAGE_VERSION comes first,
/// unchanged, with the number 0. Otherwise variables that are set stay; the defaults are the recipe's
/// version, local segment included, and the number 1. Without them the build would choose
/// "2.13.0a0+git1a2b3c4".
void SetTorchVersion(const recipe::Recipe& recipe, std::map<std::string, std::string>& variables);

/// The version that these two variables make: a number above 1 appends ".post<number>", after the local
/// segment too. nullopt: PyTorch's build stops, because the version comes without a number, or the number is
/// invalid.
[[nodiscard]] std::optional<std::string> ComposeTorchVersion(
    const std::map<std::string, std::string>& variables);

/// True if a recipe of the version `wanted` makes a distribution of the version `made`. A recipe without a
/// local segment matches every local segment, as in convert/package_metadata.h.
[[nodiscard]] bool IsVersionOfRecipe(std::string_view made, std::string_view wanted);

}  // namespace ptpkg::builder
