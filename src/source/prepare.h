#pragma once
// Fetches, verifies, unpacks and patches a recipe's sources. Layer: source.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "support/digest/hash.h"
#include "support/env.h"

namespace ptpkg::source {

struct SourceOptions {
  /// "--source NAME=PATH": replaces the first source of a package by a local directory or archive. NAME is
  /// the name of the package or of the recipe's directory, or `recipe.name` of a recipe with outputs. The
  /// recipe's patches still apply to it.
  std::map<std::string, AbsPath> overrides = {};
  /// Files and directories (symlinks followed) that do not count as sources: they are keyed elsewhere, or the
  /// build makes them.
  std::vector<AbsPath> left_out = {};
  /// SourceKey at an earlier time: Prepare refuses sources that have another one now.
  std::optional<Sha256> planned = {};
};

struct SourceTree {
  AbsPath root = AbsPath::Literal("/nonexistent");  ///< A private copy: builds may write into it.
  Sha256 key;                                       ///< SourceKey of the copied sources.
};

/// True if `--source name=…` means `recipe`. An output that inherits is meant only by its own name, and only
/// if it has sources of its own. The name of the recipe means the staging output's sources.
bool OverrideApplies(const recipe::Recipe& recipe, std::string_view name);

/// Content key of the sources that Prepare would make. Covers declared digests for URLs, commits for git
/// sources (whatever their URL), digests over names, modes and contents for local paths, and patch contents.
/// Reads local sources, fetches nothing. REQUIRES: ResolveGit has set the commits. Errors: as Prepare for
/// local paths.
Result<Sha256> SourceKey(Env& env, const recipe::Recipe& recipe, const SourceOptions& options);

/// Reports errors that are known before anything is fetched or unpacked. These are a missing local source or
/// patch, a patch that nothing on this machine can apply, and a bare repository instead of a directory. Also
/// a download without digest, and a local file whose digest differs from the declared one. Errors: as Prepare
/// for these, kIo.
Result<void> CheckInputs(Env& env, const recipe::Recipe& recipe, const SourceOptions& options);

/// Leaves the sources of `recipe` below `destination`, which must not exist and appears only when all is
/// done; its parent exists. A recipe without sources gives an empty directory. Copies directories without the
/// entries that WalkOptions::sources_only excludes. Unpacks archives (by name: .tar[.gz|.bz2|.xz|.zst], .tgz,
/// .tbz2, .txz, .zip, .whl) without a single top directory. Any other file is placed under its name.
/// Downloads stay in `env.cache_dir`/downloads/<sha256>/ and repositories in its git/, and are never fetched
/// twice. Errors:
///
/// - kNotFound: missing source, patch or patch program
/// - kHashMismatch: both digests named
/// - kRefused: the sources differ from the planned ones
/// - kInvalidInput: a patch that does not apply (names the patch, the file and the hunk), a patch or a
///   symlink that leaves the tree, two sources with one file
/// - kNetwork, kCorrupt (archive), kAlreadyExists (`destination`), kCancelled
Result<SourceTree> Prepare(Env& env, const recipe::Recipe& recipe, const SourceOptions& options,
                           const AbsPath& destination);

}  // namespace ptpkg::source
