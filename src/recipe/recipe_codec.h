#pragma once
// Encodes evaluated recipes as plan values. Layer: recipe. recipe_json.h shows a recipe to people in the form
// of a recipe; this form is read by ptpkg alone.

#include <string_view>

#include "recipe/native_build.h"
#include "recipe/package_output.h"
#include "recipe/recipe.h"

namespace ptpkg::recipe {

/// Every field but recipe_dir, recipe_file and spans: equal recipes, equal values.
Json EncodeRecipe(const Recipe& recipe);
/// `recipe_dir` and `recipe_file` keep their defaults. Errors: kInvalidInput naming `where`, for anything
/// that EncodeRecipe does not write.
Result<Recipe> DecodeRecipe(const Json& json, std::string_view where);

/// Every field but spans. Places are in it: URLs and paths.
Json EncodeSources(const std::vector<Source>& sources);
/// Errors: as DecodeRecipe.
Result<std::vector<Source>> DecodeSources(const Json& json, std::string_view where);

Json EncodeNativeBuild(const NativeBuild& native);
Result<NativeBuild> DecodeNativeBuild(const Json& json, std::string_view where);

Json EncodeOutput(const CondaOutput& output);
Json EncodeOutput(const WheelOutput& output);
Json EncodeOutput(const ZipOutput& output);
/// Errors: as DecodeRecipe.
Result<CondaOutput> DecodeCondaOutput(const Json& json, std::string_view where);
Result<WheelOutput> DecodeWheelOutput(const Json& json, std::string_view where);
Result<ZipOutput> DecodeZipOutput(const Json& json, std::string_view where);

}  // namespace ptpkg::recipe
