#pragma once
// Selects the recipe files that scripts and packages use. Layer: builder.

#include <map>
#include <string>
#include <vector>

#include "model/staged_tree.h"
#include "recipe/package_output.h"
#include "support/env.h"

namespace ptpkg::builder {

/// Files next to the recipe, hashed.
struct RecipeFolder {
  StagedTree
      tree;  ///< `root` is the recipe's directory. Links stay links where they lead to another of its files.
};

/// All files that $RECIPE_DIR shows to a script. It leaves out the recipe itself and variants.yaml (their
/// values enter by name), version control, local sources, and all below `exclude` (the output directory:
/// `ptpkg build .` has it here). If a local source holds the recipe's directory, selects only the files that
/// the recipe names: its script, patches, test scripts and loaded files, and paths in the scripts after
/// "$RECIPE_DIR/". Selects everything if the scripts name the directory itself, or a path that is not plain.
/// Errors:
/// - kNotFound: such a recipe's script is missing, a dangling link
/// - kInvalidInput: a link to a directory outside
/// - kIo, kCancelled
Result<RecipeFolder> ReadRecipeFolder(Env& env, const recipe::Recipe& recipe,
                                      const std::vector<AbsPath>& exclude);

/// Copies the files into the new directory `destination`. Errors: kRefused for a file that changed since it
/// was hashed; kAlreadyExists, kIo, kCancelled.
Result<void> CopyRecipeFolder(Env& env, const RecipeFolder& folder, const AbsPath& destination);

/// info/recipe/ of a package, by name below info/: recipe.yaml as `written`, rendered_recipe.yaml
/// (evaluated), variant_config.yaml (used keys), and the directory's files of at most 1 MiB. Errors: kRefused
/// for a file that changed since it was hashed; kIo.
Result<std::map<std::string, std::string>> RecipeFiles(Env& env, const recipe::CondaOutput& output,
                                                       const std::string& written,
                                                       const RecipeFolder& folder);

/// The build script, if there is one, and the values of its environment. Errors: as BuildScriptText.
Result<std::vector<std::string>> BuildTexts(Env& env, const recipe::Recipe& recipe);

/// The texts to search for names of variables (recipe/native_build.h): the build script, its environment's
/// values, and the directory's files of at most 1 MiB. Errors: kRefused for a file that changed since it was
/// hashed; as BuildScriptText.
Result<std::vector<std::string>> VariableSearchTexts(Env& env, const recipe::Recipe& recipe,
                                                     const RecipeFolder& folder);

}  // namespace ptpkg::builder
