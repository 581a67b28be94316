#pragma once
// Reads the choices of a build from environment variables, for --from-env. Layer: variant.
// docs/recipe-reference.md, "Environment variables of other scripts", describes from_env.yaml.

#include <string>
#include <vector>

#include "support/env.h"
#include "variant/config.h"

namespace ptpkg::variant {

/// The build as the command line has it.
struct EnvironmentRequest {
  std::vector<AbsPath> recipes = {};
  std::vector<AbsPath> variant_files = {};
  bool has_formats = false;  ///< --format is given: it wins.
};

/// The build with the choices of the environment.
struct EnvironmentChoices {
  std::vector<AbsPath> recipes = {};
  std::vector<AbsPath> variant_files = {};
  KeySettings settings = {};
  std::string format = {};              ///< As --format takes it; "" if none is named, or --format is given.
  int jobs = 0;                         ///< 0: no variable names a number, or env.jobs_given.
  std::vector<std::string> lines = {};  ///< One for each variable: what it became.
};

/// Reads env.variables by the rules of from_env.yaml beside the recipes, then by built-in rules. Removes the
/// variables that became something, so that nothing else reads or reports them. Errors:
/// - kUsage: a value that no rule takes, a refused variable, a secret whose value a rule passes on
/// - kUsage: variables that contradict each other, recipes with different rules
/// - kInvalidInput with a place: from_env.yaml
Result<EnvironmentChoices> ReadEnvironment(Env& env, const EnvironmentRequest& request);

}  // namespace ptpkg::variant
