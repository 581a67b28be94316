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
  std::optional<LockedWheels> wheels = {};              ///< kWheels: what the plan chose.
  AbsPath work = AbsPath::Literal("/nonexistent");      ///< An empty directory for prefix, HOME and scripts.
  AbsPath log_file = AbsPath::Literal("/nonexistent");  ///< Replaced if it exists; its directory is made.
  std::optional<RecipeFolder> recipe_folder = {};       ///< For scripts that are files; nullopt: read now.
};

/// False if TestPackage would have nothing to do.
bool HasTests(const recipe::Recipe& recipe);

/// The tests of `recipe` by the environment they run in: those for the variant's Python, if there are any,
/// then those for each constraint of python_version. Each part is `recipe` with its own tests alone.
std::vector<recipe::Recipe> TestEnvironments(const recipe::Recipe& recipe);

/// Packages that a test's prefix needs besides the package: its `run` and the test scripts' requirements.
std::vector<recipe::MatchSpec> TestRequirements(const recipe::Recipe& recipe);

/// Finds the tools for the tests of `recipe`: the requirements of its test scripts, and Python. Not all of
/// `run`: a library that is missing shows in the test that needs it, under its own name. Errors:
/// CheckTools's.
Result<HostPlan> CheckTestTools(Env& env, const recipe::Recipe& recipe, const HostRequest& request);

/// Unpacks `packages` and then `package` into a fresh prefix and runs every test of the recipe there, in a
/// directory that holds nothing else, with the environment of a build but CONDA_BUILD_STATE=TEST. kSystem:
/// Python is the machine's, made the prefix's own, and sees the machine's packages behind those of the
/// prefix; `pip check` speaks of the package's own distributions only, and not of what `run` names and the
/// machine lacks. kConda: a prefix by the client. Every failing test is a finding "package-test" of kind
/// error with its last 40 lines; a `pip check` without pip is a warning. Errors, when the tests cannot run:
/// kNotFound (missing tools, with commands; a script's file), those of the unpack function, kIo, kCancelled.
/// REQUIRES: `request.recipe` is of TestEnvironments.
Result<Report> TestPackage(Env& env, const PackageTestRequest& request);

}  // namespace ptpkg::builder
