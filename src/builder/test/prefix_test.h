#pragma once
// Runs a recipe's tests in the prefix of `ptpkg dev`. Layer: builder.
//
// Faster than package_test.h, and less strict: it packs nothing, finds libraries through LD_LIBRARY_PATH, and
// keeps host packages in the same prefix. So a package can still fail tests that pass here.

#include <optional>

#include "builder/run_build.h"
#include "model/finding.h"

namespace ptpkg::builder {

struct PrefixTestRequest {
  const recipe::Recipe& recipe;  ///< Recipe whose tests are run.
  const WorkLayout& layout;      ///< With RECIPE_DIR and prefix in place.
  const ScriptContext& place;    ///< Context of the build script.
  /// Files of the prefix that belong to no package of the recipe, sorted.
  const std::vector<RelPath>& host_files;
  AbsPath log_file = AbsPath::Literal("/nonexistent");  ///< Replaced if it exists.
};

struct PrefixTests {
  Report report;                     ///< Findings "package-test" of the failed tests.
  std::size_t failed = 0;            ///< Number of failed tests; one can have several findings.
  std::vector<std::string> ran;      ///< Names in messages of the tests that ran.
  std::vector<std::string> skipped;  ///< With the reason: "pip check: for the package alone".
};

/// Runs script tests like builder::TestPackage, but with $PREFIX/lib first in LD_LIBRARY_PATH, and in a
/// separate directory below layout.temp. Imports need the Python of the prefix. package_contents checks the
/// files that build.files selects. Skips pip check, tests that require a missing tool, imports without a
/// Python, and package_contents of a noarch Python package. Errors: kNotFound (a script's file), kIo,
/// kCancelled.
Result<PrefixTests> TestPrefix(Env& env, const PrefixTestRequest& request);

}  // namespace ptpkg::builder
