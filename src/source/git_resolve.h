#pragma once
// Resolves git sources to commits. Layer: source.

#include <map>
#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::source {

/// Sets `git.commit` of every git source of `recipes`, except skipped recipes and first sources that
/// `overrides` replace (prepare.h). Resolves tags and branches on the servers (git ls-remote), each name once
/// per call, so that all variants get one commit. Fetches and writes nothing. A note names refs that can move
/// (a branch, HEAD). With `env.offline`, a name is resolved to its commit at the last fetch. Errors:
/// kHashMismatch (not `expected_commit`), kNetwork, kRefused (credentials), kCancelled. Also kNotFound if git
/// or git-lfs is missing, for an unknown repository, tag or branch, and for a name that was never fetched
/// with `env.offline`.
Result<void> ResolveGit(Env& env, const std::map<std::string, AbsPath>& overrides,
                        std::vector<recipe::Recipe>& recipes);

/// "tag v1", "branch main", "rev v1" or "HEAD": the requested ref; "" for a commit by its id.
std::string GitNameOf(const recipe::GitSource& git);

}  // namespace ptpkg::source
