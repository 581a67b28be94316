#pragma once
// Files of a run for engines that ptpkg does not call. Layer: pipeline.

#include <string>
#include <vector>

#include "matrix/hosted.h"
#include "pipeline/matrix/matrix.h"

namespace ptpkg::pipeline {

/// True for "github" and "gitlab", whose machines share no directory.
bool IsCi(const std::string& engine);

/// True in a job of the workflow of "github", which plans again with places of its own.
bool PlansInWorkflow(const Env& env);

/// The files of request.engine, none for "json". Errors:
/// - kUsage for a place that the jobs would not have: outside of the repository (GitHub, GitLab) or of the
///   volume (Kubernetes)
/// - kUnsupported for a file that is too large
/// - kInvalidInput for a word that is not one line
Result<std::vector<matrix::HostedFile>> HostedFiles(Env& env, const MatrixRequest& request,
                                                    const matrix::Run& run);

}  // namespace ptpkg::pipeline
