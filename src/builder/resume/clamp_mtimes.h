#pragma once
// Clamps modification times of files created anew in each run. Layer: builder.

#include "builder/resume/work_layout.h"

namespace ptpkg::builder {

/// 2000-01-01: older than everything that a build makes, and not before 1980, which no zip file takes.
inline constexpr std::int64_t kStableTime = 946'684'800;

/// Gives kStableTime to every file of the recipe's copy, and to every file and link of the prefixes that was
/// written at or after `began_ns`: those are made anew for each run, with the content that the build's key
/// names, and ninja and make would take them for changed. Older ones keep theirs, which they have from their
/// package: compiled Python refers to it. A file with a second name belongs to a package cache, and keeps
/// its time too.
Result<void> ClampMtimes(Env& env, const WorkLayout& layout, std::int64_t began_ns);

}  // namespace ptpkg::builder
