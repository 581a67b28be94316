#pragma once
// A workflow of GitHub Actions. Layer: ci.
// Source: GitHub's workflow syntax and limits; zizmor's audits.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "ci/workflow.h"
#include "support/result.h"

namespace ptpkg::ci {

/// The most that a matrix takes.
inline constexpr std::size_t kGithubJobsPerMatrix = 256;
inline constexpr std::size_t kGithubFileBytes = 500'000;
/// The most that the outputs of a job take in UTF-16.
inline constexpr std::size_t kGithubOutputBytes = 1'048'576;

/// The actions that workflows use, by their names in templates: "actions/checkout@COMMIT  # v7.0.1".
[[nodiscard]] const std::map<std::string, std::string>& GithubActions();

/// The value of 'runs-on'; without labels, the newest Ubuntu of GitHub that all its plans have.
[[nodiscard]] std::string GithubRunner(const std::vector<std::string>& labels);

/// A stage of more than 256 jobs, the most that a matrix takes, becomes several matrices. Errors:
/// kUnsupported for more than GitHub takes of a file.
[[nodiscard]] Result<std::string> GithubWorkflow(const Workflow& workflow);

}  // namespace ptpkg::ci
