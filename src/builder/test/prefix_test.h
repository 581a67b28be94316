#pragma once
// Runs a recipe's tests in the prefix of `ptpkg dev`. Layer: builder.
//
// Quicker than package_test.h, and less strict: nothing is packed, libraries are found by LD_LIBRARY_PATH,
// and host packages lie in the same prefix. So a package may still fail the tests that pass here.

#include <optional>

#include "builder/run_build.h"
#include "model/finding.h"

namespace ptpkg::builder {

struct PrefixTestRequest {
  const recipe::Recipe& recipe;  ///< Recipe whose tests are run.
  const WorkLayout& layout;      ///< RECIPE_DIR and prefix are there.
  const ScriptContext& place;    ///< Context of the build script.
  /// Files of the prefix that belong to no package of the recipe, sorted.
  const std::vector<RelPath>& host_files;
  AbsPath log_file = AbsPath::Literal("/nonexistent");  ///< Replaced if it exists.
};

struct PrefixTests {
  Report report;                     ///< Findings "package-test" of those that failed.
  std::size_t failed = 0;            ///< Number of tests that failed; one may have several findings.
  std::vector<std::string> ran;      ///< Names in messages of the tests that ran.
  std::vector<std::string> skipped;  ///< With the reason: "pip check: for the package alone".
};

/// Script tests run with $PREFIX/lib first in LD_LIBRARY_PATH, in a directory of their own below layout.temp,
/// and otherwise with what builder::TestPackage gives them; imports need the Python of the prefix.
/// package_contents looks at the files that build.files selects. Skipped: pip check, what requires a tool
/// that the machine does not have, imports without a Python, package_contents of a noarch Python package.
/// Errors: kNotFound (a script's file), kIo, kCancelled.
Result<PrefixTests> TestPrefix(Env& env, const PrefixTestRequest& request);

}  // namespace ptpkg::builder
