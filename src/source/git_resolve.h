#pragma once
// Resolves git sources to commits. Layer: source.

#include <map>
#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::source {

/// Sets `git.commit` of every git source of `recipes`, but of those that are skipped and of first sources
/// that `overrides` replace (prepare.h). Servers are asked for names of tags and branches (git ls-remote),
/// once for each in one call, so that all variants get one commit; nothing is fetched and nothing is written.
/// A note names refs that can move (a branch, HEAD). With `env.offline` a name is the commit that it was when
/// it was fetched last. Errors: kNotFound (git or git-lfs is missing; no such repository, tag or branch;
/// `env.offline` and never fetched), kHashMismatch (not `expected_commit`), kNetwork, kRefused (credentials),
/// kCancelled.
Result<void> ResolveGit(Env& env, const std::map<std::string, AbsPath>& overrides,
                        std::vector<recipe::Recipe>& recipes);

/// "tag v1", "branch main", "rev v1" or "HEAD": what of the repository is meant; "" for a commit by its id.
std::string GitNameOf(const recipe::GitSource& git);

}  // namespace ptpkg::source
