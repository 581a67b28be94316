#pragma once
// Checks and indexes of what the user names: `ptpkg check`, `ptpkg index`. Layer: pipeline.

#include <string>
#include <vector>

#include "support/env.h"
#include "support/finding.h"

namespace ptpkg::pipeline {

/// A report for each path: an artifact file, or a folder of files. Errors: kNotFound; kInvalidInput for a
/// file that is no artifact.
Result<std::vector<Report>> Check(Env& env, const std::vector<AbsPath>& paths);

struct IndexOutcome {
  std::uint64_t packages = 0;
  std::vector<AbsPath> written;
};
/// Conda channel or simple index, whichever the folder is. Errors: those of channel/.
Result<IndexOutcome> Index(Env& env, const AbsPath& folder);

}  // namespace ptpkg::pipeline
