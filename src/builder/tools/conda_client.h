#pragma once
// Creates prefixes with a conda-compatible client. Layer: builder.

#include <optional>
#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::builder {

/// `named` (a path or a name), if it is not empty. Else PTPKG_CONDA_EXE of env.variables, in the same form.
/// Else micromamba, mamba or conda on PATH.
std::optional<AbsPath> FindCondaClient(const Env& env, const std::string& named = "");

/// Packages that `CLIENT create` would install for `specs`, by name: name, version, build and digest of each
/// package (its channel, if the client gives no digest). Empty without specs. Runs the client with --dry-run
/// --json, which writes only the client's own caches. nullopt for an answer in an unknown form. Errors:
/// kCommandFailed with the last lines of its output, kCancelled.
Result<std::optional<std::vector<std::string>>> SolvedPackages(Env& env, const AbsPath& client,
                                                               const std::vector<recipe::MatchSpec>& specs);

struct CondaPrefix {
  AbsPath prefix = AbsPath::Literal("/nonexistent");  ///< An empty directory or none.
  std::vector<recipe::MatchSpec> specs;               ///< Nothing to do when empty.
  std::vector<std::string> channels = {};             ///< Before the channels that the user configured.
};

/// `CLIENT create --yes --prefix PREFIX SPEC…`, with the user's own environment and configuration (channels,
/// proxies, caches). Appends the output to `log_file`. Errors: kCommandFailed with the last lines of its
/// output, kCancelled.
Result<void> CreateCondaPrefix(Env& env, const AbsPath& client, const CondaPrefix& wanted,
                               const AbsPath& log_file);

}  // namespace ptpkg::builder
