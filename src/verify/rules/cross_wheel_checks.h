#pragma once
// Compares all wheels of one version. Layer: verify. uv locks a version with the metadata of one of its
// wheels and applies it to all, while pip reads each wheel's own. So a requirement that only some wheels have
// is installed or left out depending on which one was read.

#include <vector>

#include "model/finding.h"
#include "support/env.h"

namespace ptpkg::verify {

/// Defect of one of the wheels.
struct CrossWheelFindings {
  AbsPath wheel;
  std::vector<Finding> findings;
};

/// Groups `wheels` by name and version, and compares each wheel of a group with its first, by path. Compares
/// requirements, extras and Requires-Python (wheel-matrix-requirements), and licence and entry points
/// (wheel-matrix-metadata). The spelling of names, versions and markers does not count. All findings are
/// warnings. Lists only wheels with findings, by path. Reads METADATA and entry_points.txt of each wheel. A
/// wheel that cannot be read gets a finding that it was not compared, if there is another wheel of its
/// version. An invalid file name has no version. Errors: kIo, kCancelled.
Result<std::vector<CrossWheelFindings>> CheckAcrossWheels(Env& env, std::vector<AbsPath> wheels);

}  // namespace ptpkg::verify
