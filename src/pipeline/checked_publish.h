#pragma once
// The gate: no artifact gets its name in the output folder before it was read again and checked.
// Layer: pipeline.

#include <string>
#include <vector>

#include "model/artifact.h"
#include "pipeline/build.h"
#include "publish/output_folder.h"
#include "support/env.h"
#include "verify/check.h"

namespace ptpkg::pipeline {

struct PublishRequest {
  std::string subdir = {};  ///< Of conda packages.
  verify::CheckOptions check = {};
  std::map<std::string, std::string> inputs = {};  ///< For the manifest: input name → digest.
};

/// Checks every artifact as its consumers read it; if none has errors, publishes all and returns their
/// records. Findings go to `summary.reports`, times to `summary.stages`.
/// Errors: kCheckFailed listing the findings (nothing is published then), kAlreadyExists, kIo.
Result<std::vector<ArtifactRecord>> CheckAndPublish(Env& env, publish::OutputFolder& output,
                                                    const std::vector<Artifact>& artifacts,
                                                    const PublishRequest& request, BuildSummary& summary);

}  // namespace ptpkg::pipeline
