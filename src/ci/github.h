#pragma once
// A workflow of GitHub Actions. Layer: ci.
// Source: GitHub's workflow syntax and limits; zizmor's audits.

#include <string>

#include "ci/workflow.h"
#include "support/result.h"

namespace ptpkg::ci {

/// A stage of more than 256 jobs, the most that a matrix takes, becomes several matrices. Errors:
/// kUnsupported for more than GitHub takes of a file.
[[nodiscard]] Result<std::string> GithubWorkflow(const Workflow& workflow);

}  // namespace ptpkg::ci
