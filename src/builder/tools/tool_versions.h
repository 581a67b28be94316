#pragma once
// Detects versions by running the tools. Layer: builder.

#include <map>
#include <string>

#include "builder/tools/tools.h"

namespace ptpkg::builder {

/// For detected() of build strings, by its names; those that the plan's tools do not have are left out:
/// - "cuda_toolkit": nvcc's own "V13.0.88"; of wheels and of a conda client the version of that package,
/// - "cudnn", "nccl", if the recipe requires them: from the macros of cudnn_version.h and nccl.h, of the
///   files that met the requirement; of wheels and a conda client the first three fields of the version.
/// Errors: kIo, kCommandFailed (the client), kCancelled.
Result<std::map<std::string, std::string>> DetectVersions(Env& env, const HostPlan& plan);

}  // namespace ptpkg::builder
