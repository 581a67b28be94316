#pragma once
// Parses --source NAME=VALUE. Layer: source.

#include <string>
#include <variant>

#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::source {

/// A directory or archive, or a commit of a git repository.
using Override = std::variant<AbsPath, recipe::GitSource>;

/// The meaning of VALUE:
///
/// - a bare repository: its HEAD
/// - PATH@REF, if PATH is a repository and no file has the whole text as its name: that tag, branch or commit
/// - git+URL, git+URL@REF: HEAD, or that tag, branch or commit
/// - any other path: that directory or archive, unchanged
///
/// Relative paths are below `env.cwd`. Errors: kUsage (a URL without "git+", a URL that git does not accept,
/// a REF that is not a valid name), kIo.
Result<Override> ParseOverride(Env& env, const std::string& value);

/// True for a directory that is a repository without a work tree: it holds no files to build.
Result<bool> IsBareRepository(Fs& fs, const AbsPath& path);

}  // namespace ptpkg::source
