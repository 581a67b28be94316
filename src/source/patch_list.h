#pragma once
// Resolves `source.patches` to patch files. Layer: source. Source: quilt(1) "series": one patch a line, with
// "-pN" and "-R"; '#' begins a comment. Debian's debian/patches/series is an example.

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

/// The patches of `source`, except patches of earlier sources (recipe::kSourceOfPatch), in the order of
/// application. An entry is a patch, a file called "series", or a directory that holds one. A series stands
/// for the patches that it lists, relative to its directory. Errors: kNotFound (an entry, or a member of a
/// series, with the line). Also kInvalidInput with the line for an option other than -pN and -R, a member
/// outside the directory, more than limits::kPatchSeries lines, and a directory without series.
Result<std::vector<PatchFile>> ListPatches(Env& env, const recipe::Recipe& recipe,
                                           const recipe::Source& source);

}  // namespace ptpkg::source
