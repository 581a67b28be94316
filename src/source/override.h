#pragma once
// Parses --source NAME=VALUE. Layer: source.

#include <string>
#include <variant>

#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::source {

/// A directory or archive, or a commit of a git repository.
using Override = std::variant<AbsPath, recipe::GitSource>;

/// | VALUE | is |
/// |---|---|
/// | a bare repository | its HEAD |
/// | PATH@REF, where PATH is a repository and no file is called like the whole | that tag, branch or commit |
/// | git+URL, git+URL@REF | HEAD, or that tag, branch or commit |
/// | any other path | that directory or archive, as it is |
///
/// Relative paths lie below `env.cwd`. Errors: kUsage (a URL without "git+", one that git does not take, a
/// REF that cannot be one), kIo.
Result<Override> ParseOverride(Env& env, const std::string& value);

/// True for a directory that is a repository without a work tree: it holds no files to build.
Result<bool> IsBareRepository(Fs& fs, const AbsPath& path);

}  // namespace ptpkg::source
