#pragma once
// Content keys of a recipe's sources, before any is fetched. Layer: source.

#include <optional>
#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "source/prepare.h"
#include "support/digest/hash.h"
#include "support/env.h"

namespace ptpkg::source {

/// A source after the user's overrides.
struct Origin {
  recipe::Source source;
  std::optional<AbsPath> local;  ///< Directory or file; nullopt for a download or a commit.
  bool overridden = false;
};

/// All sources of a recipe.
struct Sources {
  const recipe::Recipe& recipe;
  const SourceOptions& options;
  std::vector<Origin> origins;
};

/// Applies the overrides of `options`. Both are borrowed. Errors: as for AbsPath::Resolve.
Result<Sources> OriginsOf(const recipe::Recipe& recipe, const SourceOptions& options);

/// Key of the content of `origin`: the declared digest of a download, the commit of a git source, and the
/// digest of a local directory or file, which is read. Errors: as for SourceKey.
Result<std::string> ContentKey(Env& env, const Sources& sources, const Origin& origin);

/// Key of a commit: its files, and those that may be missing. Errors: kInvalidInput without a commit.
Result<std::string> GitKey(const recipe::Source& source);

/// Key of a local file with these digests.
std::string FileKey(const Origin& origin, const Digests& digests);

/// True for a local directory, false for a local file. Errors: kNotFound; kInvalidInput for a bare
/// repository, and for a directory whose source has keys of a file.
Result<bool> IsFolder(Fs& fs, const recipe::Recipe& recipe, const Origin& origin);

/// Errors: kHashMismatch if a local file does not have the digests that the recipe declares.
Result<void> CompareDeclared(const Origin& origin, const Digests& digests);

/// Name of a local file: the recipe's, else its own.
std::string NameOfFile(const Origin& origin);

/// True if `name` is an archive name: the file is to be unpacked.
bool IsArchiveName(std::string_view name);

}  // namespace ptpkg::source
