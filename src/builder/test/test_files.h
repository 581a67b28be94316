#pragma once
// The files that a conda package carries for its tests. Layer: builder.
// Source: rattler-build's documentation, "How tests are translated": etc/conda/test-files/NAME/NUMBER.

#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::builder {

struct TestFilePlaces {
  const AbsPath& source_root;
  const AbsPath& recipe_folder;
  const AbsPath& prefix;
};

/// Copies what the `files` of each script test match into recipe::TestFilesFolder() below the prefix, under
/// its path below the source root or the recipe's directory. The name of a directory means all files below
/// it. Errors: kNotFound for a glob without a match, kIo, kCancelled. A file of the recipe replaces one of
/// the sources.
Result<void> CopyTestFiles(Env& env, const recipe::Recipe& recipe, const TestFilePlaces& places);

}  // namespace ptpkg::builder
