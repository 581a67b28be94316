#pragma once
// Selects the recipe files that scripts and packages use. Layer: builder.

#include <map>
#include <string>
#include <vector>

#include "model/staged_tree.h"
#include "recipe/package_output.h"
#include "support/env.h"

namespace ptpkg::builder {

/// Files beside the recipe, hashed.
struct RecipeFolder {
  StagedTree
      tree;  ///< `root` is the recipe's directory. Links stay links where they lead to another of its files.
};

/// Everything that $RECIPE_DIR shows to a script: the files of the recipe's directory but the recipe itself
/// and variants.yaml (their values enter by name), version control, local sources, and all below `exclude`
/// (the output directory: `ptpkg build .` has it here). Where a local source holds the recipe's directory,
/// only the files that the recipe names: its script, patches, test scripts and loaded files, and what the
/// scripts name after "$RECIPE_DIR/"; everything if they name the directory itself, or a path that is not
/// plain. Errors: kNotFound for such a recipe's script that is missing; kInvalidInput for a link to a
/// directory outside, kNotFound for one to nothing, kIo, kCancelled.
Result<RecipeFolder> ReadRecipeFolder(Env& env, const recipe::Recipe& recipe,
                                      const std::vector<AbsPath>& exclude);

/// Copies the files into the directory `destination`, which is made. Errors: kRefused for a file that changed
/// since it was hashed; kAlreadyExists, kIo, kCancelled.
Result<void> CopyRecipeFolder(Env& env, const RecipeFolder& folder, const AbsPath& destination);

/// info/recipe/ of a package, by name below info/: recipe.yaml as it was `written`, rendered_recipe.yaml
/// (evaluated), variant_config.yaml (used keys), and the directory's files of at most 1 MiB. Errors: kRefused
/// for a file that changed since it was hashed; kIo.
Result<std::map<std::string, std::string>> RecipeFiles(Env& env, const recipe::CondaOutput& output,
                                                       const std::string& written,
                                                       const RecipeFolder& folder);

/// The build script, if there is one, and the values of its environment. Errors: those of BuildScriptText.
Result<std::vector<std::string>> BuildTexts(Env& env, const recipe::Recipe& recipe);

/// The texts in which names of variables are looked for (recipe/native_build.h): the build script, its
/// environment's values, and the directory's files of at most 1 MiB. Errors: kRefused for a file that changed
/// since it was hashed; those of BuildScriptText.
Result<std::vector<std::string>> VariableSearchTexts(Env& env, const recipe::Recipe& recipe,
                                                     const RecipeFolder& folder);

}  // namespace ptpkg::builder
