#pragma once
// Saves and restores staging outputs. Layer: build. Source: CEP 41: new files of the prefix and the work
// directory, restored unchanged. They are two tar archives: make and ninja compare file times to the
// nanosecond, and a work directory can hold files that no package can.

#include <string>
#include <vector>

#include "builder/resume/work_layout.h"

namespace ptpkg::builder {

struct StagingArchives {
  AbsPath prefix = AbsPath::Literal("/nonexistent");  ///< Archive of the files added to the prefix.
  AbsPath work = AbsPath::Literal("/nonexistent");    ///< Archive of the source directory after the script.
  std::string root;                                   ///< Name of WorkLayout::root in both.
  std::vector<RelPath> files;                         ///< The members of `prefix`, sorted.
};

/// Errors: kNotFound without the program tar, which the functions below run.
Result<void> RequireTar(Env& env);

/// Writes both archives into the existing `folder`: `files` of the prefix, and the source directory. Paths of
/// the work directory in them become layout.RootPlaceholder(). Errors: as RequireTar; kIo with tar's message,
/// kCancelled.
Result<StagingArchives> SaveStaging(Env& env, const WorkLayout& layout, const std::vector<RelPath>& files,
                                    const AbsPath& folder);

/// Puts the files into layout.prefix, and replaces files of the same names. Errors: as SaveStaging.
/// kUnsupported when layout.root has another length than the one that the archives were made in.
Result<void> RestorePrefix(Env& env, const StagingArchives& archives, const WorkLayout& layout);

/// Makes layout.source, which must not exist, from the files that the staging output left. Errors: as
/// RestorePrefix.
Result<void> RestoreWork(Env& env, const StagingArchives& archives, const WorkLayout& layout);

/// Moves everything below `extra` into `folder`, and warns of each file that it replaces there. Errors: kIo.
Result<void> AddSources(Env& env, const AbsPath& extra, const AbsPath& folder);

}  // namespace ptpkg::builder
