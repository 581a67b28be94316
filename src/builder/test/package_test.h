#pragma once
// Runs a recipe's tests against its finished package. Layer: builder.

#include <optional>
#include <string>
#include <vector>

#include "builder/env/host.h"
#include "builder/recipe_folder.h"
#include "model/finding.h"

namespace ptpkg::builder {

struct PackageTestRequest {
  const recipe::Recipe& recipe;        ///< Recipe whose tests are run.
  LocalPackage package;                ///< The packed artifact.
  std::vector<LocalPackage> packages;  ///< From our channel: the closure of TestRequirements.
  UnpackFunction unpack;
  HostEnv host_env = HostEnv::kAuto;
  ToolOptions options = {};
  std::optional<LockedWheels> wheels = {};              ///< kWheels: the plan's choice.
  AbsPath work = AbsPath::Literal("/nonexistent");      ///< An empty directory for prefix, HOME and scripts.
  AbsPath log_file = AbsPath::Literal("/nonexistent");  ///< Replaced if it exists; its directory is made.
  std::optional<RecipeFolder> recipe_folder = {};       ///< For scripts that are files; nullopt: read now.
};

/// False if TestPackage would do nothing.
bool HasTests(const recipe::Recipe& recipe);

/// The tests of `recipe`, grouped by their environment: the tests for the variant's Python, if there are any,
/// then one group for each constraint of python_version. Each element is `recipe` with only its group of
/// tests.
std::vector<recipe::Recipe> TestEnvironments(const recipe::Recipe& recipe);

/// Packages that a test's prefix needs besides the package: its `run` and the test scripts' requirements.
std::vector<recipe::MatchSpec> TestRequirements(const recipe::Recipe& recipe);

/// Finds the tools for the tests of `recipe`: the requirements of its test scripts, and Python. It skips
/// libraries in `run`: a missing one shows in the test that needs it, under its own name. Errors: as
/// CheckTools.
Result<HostPlan> CheckTestTools(Env& env, const recipe::Recipe& recipe, const HostRequest& request);

/// Unpacks `packages` and then `package` into a fresh prefix and runs every test of the recipe there, in an
/// empty directory. The environment is the build's, but with CONDA_BUILD_STATE=TEST. kSystem: the prefix gets
/// the machine's Python as its own, which sees the machine's packages after the prefix's packages. There `pip
/// check` reports only on the package's own distributions, and ignores `run` packages that the machine lacks.
/// kConda: the client makes the prefix. Every failing test is a finding "package-test" of kind error with its
/// last 40 lines. A `pip check` without pip is a warning. REQUIRES: `request.recipe` comes from
/// TestEnvironments. Errors, when the tests cannot run:
/// - kNotFound: missing tools, with the commands that install them; a script's file
/// - any error from the unpack function, kIo, kCancelled
Result<Report> TestPackage(Env& env, const PackageTestRequest& request);

}  // namespace ptpkg::builder
