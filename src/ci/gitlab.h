#pragma once
// A pipeline of GitLab CI. Layer: ci.
// Source: GitLab's CI/CD YAML reference.

#include <string>
#include <vector>

#include "ci/workflow.h"
#include "support/result.h"

namespace ptpkg::ci {

/// The size of a file that an instance with the usual limits takes.
inline constexpr std::size_t kGitlabFileBytes = 2'000'000;

/// The line 'tags' for runners with these labels; empty without labels.
[[nodiscard]] std::string GitlabTags(const std::vector<std::string>& labels);

/// Each variant is a job with a name of its own, not a row of parallel:matrix: that takes 200 rows, and
/// expands "$" in their values. Errors: kUnsupported for more than GitLab takes of a file.
[[nodiscard]] Result<std::string> GitlabPipeline(const Workflow& workflow);

}  // namespace ptpkg::ci
