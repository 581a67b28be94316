#pragma once
// Names the files outside its directory that a recipe reads. Layer: builder.
//
// A recipe may name "../../patches/x.patch". A package has it as info/recipe/outside/2/patches/x.patch: 2
// directories above the recipe's own.

#include <map>
#include <string>

#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::builder {

/// The patches and build script that the recipe, and what it inherits, names by a relative path that leaves
/// the recipe's directory, of at most 1 MiB: name below info/recipe → digest. Files that the recipe loads are
/// left out: they may hold what nobody wants published. Errors: kIo, kCancelled.
Result<std::map<std::string, Sha256>> OutsideFiles(Env& env, const recipe::Recipe& recipe);

/// Path of the outside file `name` for a recipe in `recipe_dir`. Errors: kInvalidInput for a name that
/// OutsideFiles does not write, or of a directory above "/".
Result<AbsPath> PlaceOfOutsideFile(const AbsPath& recipe_dir, const std::string& name);

/// True for a name that OutsideFiles writes.
bool IsOutsideFile(std::string_view name);

/// Number of directories that the file lies above the recipe's; 0 for any other name.
std::size_t LevelsAbove(std::string_view name);

}  // namespace ptpkg::builder
