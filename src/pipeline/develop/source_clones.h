#pragma once
// Clones of the repositories that recipes build from, for people who work on them. Layer: pipeline.

#include <optional>
#include <string>
#include <vector>

#include "pipeline/commands/render.h"

namespace ptpkg::pipeline {

struct SourcesRequest {
  RenderRequest render;  ///< The newest version of a recipe counts.
  AbsPath folder;        ///< Holds one clone for each source.
};

/// A repository of a clone, and the commit whose checkout was interrupted.
struct UnfinishedCheckout {
  AbsPath folder;
  std::string commit;
};

struct SourceClone {
  std::string name;  ///< "torchvision", or "torchvision-third_party" with the target directory.
  AbsPath path = AbsPath::Literal("/nonexistent");
  std::string ref = {};       ///< The recipe's: "tag v0.21.0", "branch main", "commit 1a2b…" or "HEAD".
  std::string wanted = {};    ///< Its commit; "": the clone does not have the ref.
  std::string commit = {};    ///< The commit of HEAD; "" if the clone does not exist.
  std::string before = {};    ///< Checked out before an update; "": nothing was.
  std::uint64_t commits = 0;  ///< Commits that `before` lacks.
  std::uint64_t files = 0;    ///< Changed from `before` to `commit`.
  std::vector<std::string> submodules = {};  ///< Changed in the same way.
  std::vector<std::string> edited = {};      ///< Files with changes of the user, also in submodules.
  std::vector<std::string> unready = {};     ///< Submodules that are empty or at another commit.
  AbsPath edited_in = AbsPath::Literal("/nonexistent");  ///< Repository of the first of `edited`.
  std::vector<UnfinishedCheckout> unfinished = {};       ///< Nothing of the user's is in their way.

  [[nodiscard]] bool IsAsWanted() const { return !commit.empty() && commit == wanted && unready.empty(); }
};

/// Clones each recipe's repository with submodules, and checks out the ref of its source. A clone gets its
/// name when it is complete. After a failure the clones before it stay, and a context frame lists them and
/// those that were not begun. Errors: any from Render, kUsage (a recipe without a git source, two sources for
/// one clone), kAlreadyExists (a clone exists: nothing is cloned), kNetwork, kNotFound (also offline),
/// kRefused.
Result<std::vector<SourceClone>> CloneSources(Env& env, const SourcesRequest& request);

/// Fetches into the clones and checks out the recipes' refs and their submodules. Branches and URLs of the
/// user stay. Completes a checkout that was interrupted. Errors: as CloneSources, kNotFound (no clone). Also
/// kRefused for changed files, for untracked ones in the way, for commits that no branch holds, and for the
/// clone of another repository, before any clone is changed.
Result<std::vector<SourceClone>> UpdateSources(Env& env, const SourcesRequest& request);

/// Compares the clones with the recipes. Asks no server. Errors: any from Render, kUsage, kCommandFailed,
/// kRefused (the clone of another repository).
Result<std::vector<SourceClone>> SourceStatus(Env& env, const SourcesRequest& request);

}  // namespace ptpkg::pipeline
