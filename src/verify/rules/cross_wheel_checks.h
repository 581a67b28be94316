#pragma once
// Compares all wheels of one version. Layer: verify. uv locks a version by the metadata of one of its wheels
// and takes it for that of all; pip reads each wheel's own. So a requirement that only some wheels have is
// installed or left out depending on which one was read.

#include <vector>

#include "model/finding.h"
#include "support/env.h"

namespace ptpkg::verify {

/// Defect of one of the wheels.
struct CrossWheelFindings {
  AbsPath wheel;
  std::vector<Finding> findings;
};

/// Groups `wheels` by name and version and compares each wheel of a group with its first, by path:
/// requirements, extras, Requires-Python (wheel-matrix-requirements); licence and entry points
/// (wheel-matrix-metadata). How names, versions and markers are spelled does not count. All of them warnings.
/// Only wheels with findings are listed, by path. Of each wheel METADATA and entry_points.txt are read; one
/// where that fails is said not to be compared, if its version has another one; a file name that is none has
/// no version. Errors: kIo, kCancelled.
Result<std::vector<CrossWheelFindings>> CheckAcrossWheels(Env& env, std::vector<AbsPath> wheels);

}  // namespace ptpkg::verify
