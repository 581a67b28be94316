#pragma once
// Part of a recipe that affects the built files. Layer: recipe.
//
// One native build can serve many packages: of several build numbers, with other run requirements or other
// checks, of several Python versions that only the packages depend on. So its key holds neither the build
// number, build string and hash, nor variant keys that only run requirements, tests, `about`, `extra` or
// `build.skip` read. Such a value is kept if the script, its environment or a file of the recipe's directory
// mentions its name. The script's environment lacks the other values, so that nothing depends on them.

#include <set>
#include <string>
#include <vector>

#include "recipe/recipe.h"

namespace ptpkg::recipe {

struct NativeBuild {
  /// Name, version, script, build and host requirements, file globs, entry points, licence globs, system
  /// packages, subdir, and whether it is a staging output. From the variant and the numbers only values that
  /// the script gets. The formats if it inherits. All other fields have their defaults, the sources too:
  /// their content counts (source::SourceKey), not their origin.
  Recipe recipe;
  /// The names among PKG_BUILDNUM, PKG_BUILD_STRING and PKG_HASH that are mentioned: the script gets no
  /// others.
  std::set<std::string> mentioned = {};
};

/// `texts`: builder::VariableSearchTexts, the texts that may mention variables.
NativeBuild NativeBuildOf(const Recipe& recipe, const std::vector<std::string>& texts);

/// True if `text` has `name` as a whole word ([A-Za-z0-9_] on neither side).
bool MentionsVariable(std::string_view text, std::string_view name);

}  // namespace ptpkg::recipe
