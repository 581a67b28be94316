#include "pipeline/commands/ci.h"

#include <fmt/core.h>

#include "ci/github.h"
#include "ci/gitlab.h"
#include "ci/seal.h"
#include "pipeline/commands/ci_workflow.h"

namespace ptpkg::pipeline {
namespace {

/// The file at the workflow's path, and whether it may be replaced.
struct Present {
  bool there = false;
  bool same = false;
  std::string problem = {};  ///< Why only --force replaces it; "": nothing is lost.
};

Result<Present> LookAt(Env& env, const AbsPath& file, const std::string& text) {
  Present present;
  PTPKG_TRY(present.there, Exists(env.fs, file));
  if (!present.there) return present;
  PTPKG_TRY(const FileStat stat, env.fs.Lstat(file));
  if (stat.kind != FileKind::kRegular) {
    present.problem = "is not a regular file";
    return present;
  }
  PTPKG_TRY(const std::string old, ReadFile(env.fs, file));
  present.same = old == text;
  switch (ci::OriginOf(old)) {
    case ci::Origin::kOurs:
      break;
    case ci::Origin::kEdited:
      present.problem = "was edited by hand";
      break;
    case ci::Origin::kForeign:
      present.problem = "was not written by 'ptpkg ci'";
      break;
  }
  return present;
}

Result<void> Compare(const AbsPath& file, const Present& present) {
  if (present.same) return Ok();
  const std::string why = !present.there            ? "is not there"
                          : present.problem.empty() ? "is out of date with the recipes"
                                                    : present.problem;
  return Error(ErrorCode::kCheckFailed, fmt::format("the workflow '{}' {}", file.str(), why))
      .WithHint("run the command in its first lines again, and commit the result");
}

Result<void> Write(Env& env, const AbsPath& file, const std::string& text) {
  PTPKG_CHECK(env.fs.MakeDirs(file.Parent()));
  return WriteFile(env.fs, file, text);
}

}  // namespace

Result<CiRule> CiRule::Parse(const std::string& flag, const std::string& text) {
  CiRule rule{.text = text};
  const std::size_t colon = text.find(':');
  const std::size_t equals = text.substr(0, colon).find('=');
  if (colon != std::string::npos && equals != std::string::npos) {
    rule = {.key = text.substr(0, equals),
            .value = text.substr(equals + 1, colon - equals - 1),
            .text = text.substr(colon + 1)};
    if (rule.key.empty()) rule.text.clear();
  }
  if (!rule.text.empty()) return rule;
  return Error(ErrorCode::kUsage, fmt::format("{} '{}' has an empty part", flag, text))
      .WithHint("give one value for all jobs, or KEY=VALUE:… for the variants with that value");
}

Result<CiOutcome> WriteCi(Env& env, const CiRequest& request) {
  PTPKG_TRY(const AbsPath root, RepositoryOf(env, request.build.recipes.front()));
  PTPKG_TRY(PlannedCi planned, PlanCi(env, request, root));
  const bool github = request.service == CiService::kGithub;
  CiOutcome outcome{.text = "", .file = std::nullopt, .jobs = std::move(planned.jobs)};
  planned.workflow.has_file = false;
  if (!request.print) {
    outcome.file = request.output ? *request.output
                   : github       ? root / ".github/workflows" / (planned.workflow.name + ".yml")
                                  : root / ".gitlab-ci.yml";
    const auto word = CommandWord(*outcome.file, root);
    planned.workflow.has_file = word.has_value();  // of one elsewhere, no job knows where it is kept
    planned.workflow.arguments.push_back("--output=" + (word ? *word : "-"));
  }
  PTPKG_TRY(const std::string body,
            github ? ci::GithubWorkflow(planned.workflow) : ci::GitlabPipeline(planned.workflow));
  outcome.text = ci::Sealed(body);
  if (!outcome.file) return outcome;
  PTPKG_TRY(const Present present, LookAt(env, *outcome.file, outcome.text));
  outcome.differs = !present.same;
  if (request.check) {
    PTPKG_CHECK(Compare(*outcome.file, present));
    return outcome;
  }
  if (present.same) return outcome;
  if (!present.problem.empty() && !request.force) {
    return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' {}", outcome.file->str(), present.problem))
        .WithHint("replace it with --force, or choose another file with --output FILE");
  }
  if (!request.dry_run) PTPKG_CHECK(Write(env, *outcome.file, outcome.text));
  return outcome;
}

}  // namespace ptpkg::pipeline
