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
  /// the package's name, `recipe.name` of a recipe with outputs, or that of the recipe's directory. The
  /// recipe's patches still apply to it.
  std::map<std::string, AbsPath> overrides = {};
  /// Files and directories (symlinks followed) that are in no directory of the sources: they are keyed
  /// elsewhere, or are what the build makes.
  std::vector<AbsPath> left_out = {};
  /// SourceKey at an earlier time: Prepare refuses sources that have another one now.
  std::optional<Sha256> planned = {};
};

struct SourceTree {
  AbsPath root = AbsPath::Literal("/nonexistent");  ///< A private copy: builds may write into it.
  Sha256 key;                                       ///< SourceKey of what was copied.
};

/// True if `--source name=…` means `recipe`. Of an output that inherits, only under its own name, and if it
/// has sources of its own: the name of the recipe means those of the staging output.
bool OverrideApplies(const recipe::Recipe& recipe, std::string_view name);

/// Content key of what Prepare would make: declared digests for URLs, commits for git sources (whatever their
/// URL), digests over names, modes and contents for local paths, patch contents. Reads local sources, fetches
/// nothing. REQUIRES: ResolveGit has set the commits. Errors: those of Prepare for local paths.
Result<Sha256> SourceKey(Env& env, const recipe::Recipe& recipe, const SourceOptions& options);

/// Reports errors that are known before anything is fetched or unpacked: a local source or a patch that is
/// missing, a patch that nothing on this machine applies, a bare repository in place of a directory, a
/// download without digest, a local file with another digest than the declared one. Errors: those of Prepare
/// for these; kIo.
Result<void> CheckInputs(Env& env, const recipe::Recipe& recipe, const SourceOptions& options);

/// Leaves the sources of `recipe` below `destination`, which must not exist and appears only when all
/// is done; its parent exists. A recipe without sources gives an empty directory. Folders are copied without
/// what WalkOptions::sources_only leaves out; archives (by name: .tar[.gz|.bz2|.xz|.zst], .tgz, .tbz2, .txz,
/// .zip, .whl) are unpacked without a single top directory; any other file is placed under its name.
/// Downloads are kept in `env.cache_dir`/downloads/<sha256>/, repositories in its git/, and never fetched
/// twice. Errors: kNotFound (missing source, patch or patch program), kHashMismatch (both digests named),
/// kRefused (not the sources that were planned), kNetwork, kCorrupt (archive), kAlreadyExists
/// (`destination`), kInvalidInput (a patch that does not apply: names the patch, the file and the hunk; a
/// patch or a symlink that leaves the tree; two sources with one file), kCancelled.
Result<SourceTree> Prepare(Env& env, const recipe::Recipe& recipe, const SourceOptions& options,
                           const AbsPath& destination);

}  // namespace ptpkg::source
