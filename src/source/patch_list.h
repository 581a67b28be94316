#pragma once
// Resolves `source.patches` to patch files. Layer: source. Source: quilt(1) "series": one patch a line, with
// "-pN" and "-R"; '#' begins a comment. Debian's debian/patches/series is one.

#include <optional>
#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::source {

struct PatchFile {
  AbsPath file;
  std::string shown;  ///< Name in messages: relative to the recipe.
  std::optional<std::size_t> strip =
      {};                ///< Leading directories to take away; nullopt: found by the files there.
  bool reverse = false;  ///< Takes the change back.
};

/// The patches of `source`, but patches of earlier sources (recipe::kSourceOfPatch), in the order in which
/// they are applied. An entry is a patch, or a file called "series", or a directory that holds one: then
/// those that it lists, relative to its directory. Errors: kNotFound (an entry; a member of a series, with
/// the line), kInvalidInput with the line (an option other than -pN and -R, a member outside of the
/// directory, more than limits::kPatchSeries lines; a directory without series).
Result<std::vector<PatchFile>> ListPatches(Env& env, const recipe::Recipe& recipe,
                                           const recipe::Source& source);

}  // namespace ptpkg::source
