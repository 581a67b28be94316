#pragma once
// Plans the jobs and arguments of a CI workflow. Layer: pipeline.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ci/workflow.h"
#include "pipeline/commands/ci.h"

namespace ptpkg::pipeline {

struct PlannedCi {
  ci::Workflow workflow;
  std::vector<CiJob> jobs;
};

/// `root`: base of relative paths. The workflow's `arguments` lack --output. Errors: as WriteCi.
Result<PlannedCi> PlanCi(Env& env, const CiRequest& request, const AbsPath& root);

/// The repository that the service checks out: the one that holds the recipe, else the working directory.
Result<AbsPath> RepositoryOf(Env& env, const AbsPath& recipe);

/// Arguments for the variant files, formats, environment and tests of `build`, from `root`. Errors: as
/// CommandWord.
Result<std::vector<std::string>> CommonArguments(const BuildRequest& build, const AbsPath& root);

/// Arguments for `select` and `sources` (NAME and VALUE of each --source), from `root`. Errors: as WriteCi.
Result<std::vector<std::string>> ChoiceArguments(
    Env& env, const std::map<std::string, std::vector<std::string>>& select,
    const std::vector<std::pair<std::string, std::string>>& sources, const AbsPath& root);

/// `path` as a word of a command in `root`: never one that begins with '-'. Errors: kUsage (not below
/// `root`).
Result<std::string> CommandWord(const AbsPath& path, const AbsPath& root);

/// Errors: kInvalidInput for text that is not UTF-8, has control characters or breaks lines. `what`: "the
/// variant value".
Result<void> CheckSingleLine(const std::string& what, const std::string& text);

}  // namespace ptpkg::pipeline
