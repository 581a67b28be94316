#pragma once
// What the build stage left behind, in the stage store: "tree/" and "staged.json". Layer: pipeline.

#include <map>
#include <string>
#include <vector>

#include "build/build.h"
#include "model/staged_tree.h"
#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::pipeline {

struct StagedResult {
  StagedTree tree;
  std::string prefix;                                ///< Placeholder to search for.
  std::string python_version;                        ///< "" without Python.
  std::vector<std::string> forbidden_paths;          ///< Text of the build machine that must not ship.
  std::map<std::string, std::string> license_files;  ///< Name below info/licenses → text.
};

/// Links the staged tree into `<folder>/tree` and writes `<folder>/staged.json`. Licence files come from
/// the sources, else from the recipe's folder. Errors: kNotFound for a licence glob that matches nothing.
Result<void> SaveStaged(Env& env, const recipe::Recipe& recipe, const build::StagedBuild& staged,
                        const AbsPath& source_root, const AbsPath& folder);

/// Errors: kCorrupt (staged.json), kIo.
Result<StagedResult> LoadStaged(Env& env, const AbsPath& folder);

}  // namespace ptpkg::pipeline
