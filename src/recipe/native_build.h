#pragma once
// Part of a recipe that affects the built files. Layer: recipe.
//
// One native build can serve many packages: of several build numbers, with other run requirements or other
// checks, of several Python versions that only the packages depend on. So its key must not hold what does not
// reach the build: neither the build number, build string and hash, nor variant keys that only run
// requirements, tests, `about`, `extra` or `build.skip` read. Such a value is kept if the script, its
// environment or a file of the recipe's directory mentions its name. What is left out is not in the script's
// environment either, so that nothing can depend on what the key does not hold.

#include <set>
#include <string>
#include <vector>

#include "recipe/recipe.h"

namespace ptpkg::recipe {

struct NativeBuild {
  /// Name, version, script, build and host requirements, file globs, entry points, licence globs,
  /// system packages, subdir, whether it is a staging output, and of the variant and the numbers what the
  /// script gets; of what inherits also the formats. All other fields have their defaults. So have the
  /// sources: what they hold counts (source::SourceKey), and not where they come from.
  Recipe recipe;
  /// PKG_BUILDNUM, PKG_BUILD_STRING and PKG_HASH, as far as they are mentioned: the script gets no others.
  std::set<std::string> mentioned = {};
};

/// `texts`: builder::VariableSearchTexts, in which names of variables are looked for.
NativeBuild NativeBuildOf(const Recipe& recipe, const std::vector<std::string>& texts);

/// True if `name` stands in `text` as a whole word ([A-Za-z0-9_] on neither side).
bool MentionsVariable(std::string_view text, std::string_view name);

}  // namespace ptpkg::recipe
