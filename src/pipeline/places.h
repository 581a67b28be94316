#pragma once
// Where a build writes, compared with what it reads. Layer: pipeline.

#include <optional>
#include <vector>

#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::pipeline {

/// Host packages are of the platform that the build runs on, also for a noarch output.
inline constexpr const char* kBuildPlatform = "linux-64";

/// The folder behind `path`, symlinks followed, or where it would come to lie: it need not exist.
AbsPath RealPlace(Env& env, const AbsPath& path);

/// The folder that the build copies its sources from, where there is one on this machine: `given` by
/// --source, else the first `path` of the recipe.
std::optional<AbsPath> LocalSource(const recipe::Recipe& recipe, const std::optional<AbsPath>& given);

/// Errors: kUsage for an output or cache folder inside a local source of the recipe, through symlinks as
/// well: what is made would be copied with the sources of the next run, and change them.
Result<void> CheckPlaces(Env& env, const AbsPath& output, const recipe::Recipe& recipe,
                         const std::optional<AbsPath>& source_override);

/// The output and cache folders as they are called below `folder`, as far as they lie there: `folder` may be
/// named through symlinks, and so may they.
std::vector<AbsPath> RealPlaces(Env& env, const AbsPath& folder, const AbsPath& output);

}  // namespace ptpkg::pipeline
