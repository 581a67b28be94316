#pragma once
// Splits the sources of `ptpkg dev` into synchronised and fixed ones. Layer: pipeline.

#include <optional>
#include <string>
#include <vector>

#include "builder/resume/source_sync.h"
#include "recipe/recipe.h"
#include "source/prepare.h"
#include "support/env.h"

namespace ptpkg::pipeline {

struct DevSources {
  /// Local directories without patches: an edit there is copied file by file.
  std::vector<builder::SyncOrigin> synchronised = {};
  /// The recipe with its other sources alone: archives, git, patched sources. A change of one of these makes
  /// the directory anew, because nobody can tell its files from those that a build has changed.
  recipe::Recipe fixed = {};
  source::SourceOptions options = {};  ///< For these.

  [[nodiscard]] bool HasFixed() const { return !fixed.sources.empty(); }
};

/// `given`: from --source, replaces the first source. `left_out`: as in source::SourceOptions. Errors: kIo,
/// and as source::Prepare for a missing local source.
Result<DevSources> SplitSources(Env& env, const recipe::Recipe& recipe, const std::optional<AbsPath>& given,
                                const std::vector<AbsPath>& left_out);

/// Changes when a fixed source might have changed: sizes and times of local files, digests of patches, the
/// recipe's text about the others. "" without fixed sources. Errors: as source::Prepare for local paths.
Result<std::string> FixedFingerprint(Env& env, const DevSources& sources);
/// source::SourceKey of the fixed ones: reads all of them that are local. "" without any.
Result<std::string> FixedKey(Env& env, const DevSources& sources);

}  // namespace ptpkg::pipeline
