#pragma once
// Detects overlaps of source and output directories. Layer: pipeline.

#include <optional>
#include <vector>

#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::pipeline {

/// Host packages are of the platform that the build runs on, also for a noarch output.
inline constexpr const char* kBuildPlatform = "linux-64";

/// The directory behind `path`, symlinks followed, or the path that it would have: it need not exist.
AbsPath ResolveExistingPart(Env& env, const AbsPath& path);

/// The files and directories on this machine that the build copies its sources from, in the recipe's order.
/// `given` by --source takes the place of the first.
std::vector<AbsPath> LocalSources(const recipe::Recipe& recipe, const std::optional<AbsPath>& given);

/// The first of them.
std::optional<AbsPath> LocalSource(const recipe::Recipe& recipe, const std::optional<AbsPath>& given);

/// Errors: kUsage for an output or cache directory that is a local source of the recipe, even through
/// symlinks. A directory inside a source is excluded from it (SourceExclusions).
Result<void> CheckOutputOutsideInputs(Env& env, const AbsPath& output, const recipe::Recipe& recipe,
                                      const std::optional<AbsPath>& source_override);

/// The paths of the output and cache directories below `folder`, for those that are inside it. `folder` and
/// these directories can be named through symlinks.
std::vector<AbsPath> OutputPlacesBelow(Env& env, const AbsPath& folder, const AbsPath& output);

}  // namespace ptpkg::pipeline
