#pragma once
// Saves and restores staging outputs. Layer: build. Source: CEP 41: new files of the prefix and the work
// folder, restored as they were. Two archives of tar: make and ninja compare times of files to the
// nanosecond, and a work folder may hold what no package can.

#include <string>
#include <vector>

#include "builder/resume/work_layout.h"

namespace ptpkg::builder {

struct StagingArchives {
  AbsPath prefix = AbsPath::Literal("/nonexistent");  ///< Of the files that were added to the prefix.
  AbsPath work = AbsPath::Literal("/nonexistent");    ///< Of the source folder after the script.
  std::string root;                                   ///< What WorkLayout::root is called in both.
  std::vector<RelPath> files;                         ///< The members of `prefix`, sorted.
};

/// Errors: kNotFound without the program tar, which the functions below run.
Result<void> RequireTar(Env& env);

/// Writes both archives into the existing `folder`: `files` of the prefix, and the source folder. Paths of
/// the work folder in them become layout.RootPlaceholder(). Errors: RequireTar's; kIo with what tar said,
/// kCancelled.
Result<StagingArchives> SaveStaging(Env& env, const WorkLayout& layout, const std::vector<RelPath>& files,
                                    const AbsPath& folder);

/// Puts the files into layout.prefix, in place of files of the same names. Errors: as SaveStaging;
/// kUnsupported when layout.root is of another length than the one that the archives were made in.
Result<void> RestorePrefix(Env& env, const StagingArchives& archives, const WorkLayout& layout);

/// Makes layout.source, which must not exist, what the staging output left. Errors: as RestorePrefix.
Result<void> RestoreWork(Env& env, const StagingArchives& archives, const WorkLayout& layout);

/// Moves everything below `extra` into `folder`, and warns of each file that it replaces there. Errors: kIo.
Result<void> AddSources(Env& env, const AbsPath& extra, const AbsPath& folder);

}  // namespace ptpkg::builder
