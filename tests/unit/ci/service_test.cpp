// Both services: what they are told is what stands in their files, whatever the values hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ci/github.h"
#include "ci/gitlab.h"
#include "support/matchers.h"
#include "support/text/text.h"
#include "support/text/yaml.h"

namespace ptpkg::ci {
namespace {

using test::FailsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kHostile =
    R"(a'b"c\ : # - [x] {y} & *z | > % @at@ `id` $(id) $HOME $$ ${{ secrets.X }} }} !)";

Workflow Example(std::size_t jobs = 1) {
  Workflow workflow{.name = "toy", .arguments = {"github", "recipes/toy"}, .stages = {}};
  Stage stage{.recipe = "toy", .jobs = {}};
  for (std::size_t i = 0; i < jobs; ++i) {
    stage.jobs.push_back({.id = "1-toy-" + std::to_string(i),
                          .title = "toy",
                          .arguments = {"recipes/toy", "--select=n=" + std::to_string(i)},
                          .image = "",
                          .labels = {}});
  }
  workflow.stages.push_back(stage);
  return workflow;
}

Publication To(const char* target, Identity identity, std::vector<std::string> secrets) {
  return {.arguments = {std::string("--to=") + target},
          .identity = identity,
          .secrets = std::move(secrets),
          .audience = "pypi"};
}

YamlNode Parsed(const Result<std::string>& text) {
  EXPECT_OK(text);
  if (!text) return {};
  const auto parsed = ParseYaml(*text, "workflow.yml");
  EXPECT_OK(parsed);
  return parsed ? *parsed : YamlNode();
}

/// The node at "a/b/0/c"; an empty one where there is none.
const YamlNode& At(const YamlNode& root, const std::string& path) {
  static const YamlNode kNone;
  const YamlNode* node = &root;
  for (const std::string& part : Split(path, '/')) {
    if (node->kind == YamlNode::Kind::kSequence) {
      const std::size_t index = std::stoul(part);
      node = index < node->items.size() ? &node->items[index] : &kNone;
    } else {
      const YamlNode* found = node->Find(part);
      node = found == nullptr ? &kNone : found;
    }
  }
  return *node;
}

/// What GitHub makes of a scalar that QuotedForGithub wrote.
std::string Evaluated(const std::string& scalar) { return ReplaceAll(scalar, "${{ '${{' }}", "${{"); }

TEST(Github, HostileValuesStayValues) {
  Workflow workflow = Example();
  Job& job = workflow.stages[0].jobs[0];
  job.title = job.arguments[1] = kHostile;
  job.labels = {kHostile, "second"};
  workflow.arguments.emplace_back(kHostile);
  workflow.publication = To(kHostile, Identity::kToken, {"TOKEN"});
  const YamlNode root = Parsed(GithubWorkflow(workflow));
  const YamlNode& entry = At(root, "jobs/build-1/strategy/matrix/include/0");
  EXPECT_EQ(Evaluated(At(entry, "title").scalar), kHostile);
  EXPECT_EQ(Evaluated(At(entry, "arguments").scalar), std::string("recipes/toy\n") + kHostile);
  EXPECT_EQ(Evaluated(At(entry, "runner/0").scalar), kHostile);
  EXPECT_EQ(Evaluated(At(root, "jobs/publish/env/PTPKG_TARGET").scalar), std::string("--to=") + kHostile);
  EXPECT_EQ(Evaluated(At(root, "jobs/current/steps/2/env/PTPKG_CI").scalar),
            std::string("github\nrecipes/toy\n") + kHostile);
}

TEST(Gitlab, HostileValuesStayValues) {
  Workflow workflow = Example();
  Job& job = workflow.stages[0].jobs[0];
  job.title = job.arguments[1] = kHostile;
  job.labels = {kHostile};
  workflow.publication = To(kHostile, Identity::kToken, {"TOKEN"});
  const YamlNode root = Parsed(GitlabPipeline(workflow));
  const YamlNode& variables = At(root, "build 1-toy-0/variables");
  EXPECT_EQ(At(variables, "PTPKG_ARGUMENTS/value").scalar, std::string("recipes/toy\n") + kHostile);
  EXPECT_EQ(At(variables, "PTPKG_ARGUMENTS/expand").scalar, "false");
  EXPECT_EQ(At(root, "build 1-toy-0/tags/0").scalar, kHostile);
  EXPECT_EQ(At(root, "publish/variables/PTPKG_TARGET/value").scalar, std::string("--to=") + kHostile);
  EXPECT_EQ(At(root, "publish/variables/PTPKG_TARGET/expand").scalar, "false");
}

TEST(Github, AMatrixHas256JobsAtMost) {
  Workflow workflow = Example(600);
  workflow.publication = To("file:///srv/x", Identity::kNone, {});
  const YamlNode root = Parsed(GithubWorkflow(workflow));
  EXPECT_EQ(At(root, "jobs/build-1-1/strategy/matrix/include").items.size(), 256U);
  EXPECT_EQ(At(root, "jobs/build-1-2/strategy/matrix/include").items.size(), 256U);
  EXPECT_EQ(At(root, "jobs/build-1-3/strategy/matrix/include").items.size(), 88U);
  EXPECT_EQ(At(root, "jobs/build-1-3/strategy/matrix/include/87/id").scalar, "1-toy-599");
  EXPECT_EQ(At(root, "jobs/publish/needs").items.size(), 4U);
  EXPECT_EQ(At(root, "jobs/publish/env/PTPKG_FOLDERS").scalar, "600");
  EXPECT_EQ(At(Parsed(GithubWorkflow(Example(256))), "jobs/build-1/strategy/matrix/include").items.size(),
            256U);
}

TEST(Service, RefusesMoreThanItTakesOfAFile) {
  Workflow workflow = Example(20);
  for (Job& job : workflow.stages[0].jobs) job.arguments.emplace_back(120'000, 'x');
  EXPECT_THAT(GithubWorkflow(workflow),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("GitHub accepts 500000")));
  EXPECT_THAT(GitlabPipeline(workflow),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("GitLab accepts 2000000")));
}

TEST(Github, LaterRecipesTakeTheArtifactsOfAllBefore) {
  Workflow workflow = Example(2);
  workflow.stages.push_back(Example().stages[0]);
  workflow.stages.push_back(Example().stages[0]);
  const YamlNode root = Parsed(GithubWorkflow(workflow));
  EXPECT_EQ(At(root, "jobs/build-1/needs").kind, YamlNode::Kind::kNull);
  EXPECT_EQ(At(root, "jobs/build-2/needs").items.size(), 1U);
  EXPECT_EQ(At(root, "jobs/build-3/needs").items.size(), 2U);
  EXPECT_EQ(At(root, "jobs/build-2/steps/4/with/pattern").scalar, "ptpkg-1-*");
  EXPECT_EQ(At(root, "jobs/build-2/steps/5/env/PTPKG_FOLDERS").scalar, "2");
  EXPECT_EQ(At(root, "jobs/build-3/steps/4/with/pattern").scalar, "ptpkg-{1,2}-*");
  EXPECT_EQ(At(root, "jobs/build-3/steps/5/env/PTPKG_FOLDERS").scalar, "3");
}

TEST(Github, JobsBeginWithoutWhatOthersLeft) {
  Workflow workflow = Example();
  workflow.publication = To("anaconda:me", Identity::kToken, {"ANACONDA_API_TOKEN"});
  const YamlNode root = Parsed(GithubWorkflow(workflow));
  EXPECT_EQ(At(root, "jobs/build-1/steps/0/run").scalar, "rm -rf cache dist earlier");
  EXPECT_EQ(At(root, "jobs/rehearse/steps/0/run").scalar, "rm -rf dist");
  EXPECT_EQ(At(root, "jobs/publish/steps/0/run").scalar, "rm -rf dist");
}

TEST(Github, OnlyWhatPublishesHasRights) {
  Workflow workflow = Example();
  workflow.publication = To("pypi:pypi", Identity::kIndex, {"PYPI_ID_TOKEN"});
  YamlNode root = Parsed(GithubWorkflow(workflow));
  EXPECT_EQ(At(root, "jobs/publish/permissions/id-token").scalar, "write");
  for (const char* job : {"build-1", "rehearse", "current"}) {
    EXPECT_EQ(At(root, std::string("jobs/") + job + "/permissions/id-token").kind, YamlNode::Kind::kNull)
        << job;
  }
  workflow.publication = To("anaconda:me", Identity::kToken, {"ANACONDA_API_TOKEN"});
  const Result<std::string> text = GithubWorkflow(workflow);
  root = Parsed(text);
  EXPECT_TRUE(At(root, "jobs/publish/permissions").entries.empty());
  EXPECT_EQ(At(root, "jobs/publish/steps/3/env/ANACONDA_API_TOKEN").scalar,
            "${{ secrets.ANACONDA_API_TOKEN }}");
  EXPECT_EQ(text->find("secrets."), text->rfind("secrets."));
}

TEST(Gitlab, OnlyWhatPublishesHasTheEnvironmentOfTheSecrets) {
  Workflow workflow = Example();
  workflow.publication = To("anaconda:me", Identity::kToken, {"ANACONDA_API_TOKEN"});
  const YamlNode root = Parsed(GitlabPipeline(workflow));
  EXPECT_EQ(At(root, "publish/environment").scalar, "publish");
  for (const char* job : {"build 1-toy-0", ".build", "current", "rehearse", "default"})
    EXPECT_EQ(At(root, std::string(job) + "/environment").kind, YamlNode::Kind::kNull) << job;
}

TEST(Service, PublishesTagsOrTheDefaultBranch) {
  Workflow workflow = Example();
  workflow.publication = To("s3://b", Identity::kRole, {});
  EXPECT_EQ(At(Parsed(GithubWorkflow(workflow)), "jobs/publish/if").scalar,
            "${{ github.event_name == 'push' && github.ref_type == 'tag' }}");
  EXPECT_EQ(At(Parsed(GitlabPipeline(workflow)), "publish/rules/0/if").scalar,
            R"($CI_COMMIT_TAG && $CI_COMMIT_REF_PROTECTED == "true")");
  workflow.publication->on_branch = true;
  EXPECT_THAT(At(Parsed(GithubWorkflow(workflow)), "jobs/publish/if").scalar, HasSubstr("default_branch"));
  EXPECT_THAT(At(Parsed(GitlabPipeline(workflow)), "publish/rules/0/if").scalar,
              HasSubstr("$CI_DEFAULT_BRANCH"));
}

TEST(Service, NoReleaseGivesWayToANewerOne) {
  Workflow workflow = Example();
  workflow.publication = To("s3://b", Identity::kRole, {});
  EXPECT_EQ(At(Parsed(GitlabPipeline(workflow)), "workflow/rules/2/auto_cancel").kind, YamlNode::Kind::kNull);
  workflow.publication->on_branch = true;
  EXPECT_EQ(At(Parsed(GitlabPipeline(workflow)), "workflow/rules/2/auto_cancel/on_new_commit").scalar,
            "none");
  const YamlNode root = Parsed(GithubWorkflow(workflow));
  EXPECT_THAT(At(root, "concurrency/group").scalar,
              HasSubstr("github.event_name == 'pull_request' && github.ref || github.run_id"));
  EXPECT_EQ(At(root, "jobs/publish/concurrency").kind, YamlNode::Kind::kNull);
}

TEST(Github, AFolderOfTheRunnerIsReachedWithoutContainer) {
  Workflow workflow = Example();
  workflow.publication = To("file:///srv/x", Identity::kNone, {});
  workflow.labels = {"channel"};
  const YamlNode root = Parsed(GithubWorkflow(workflow));
  for (const std::string job : {"rehearse", "publish"}) {
    EXPECT_EQ(At(root, "jobs/" + job + "/container").kind, YamlNode::Kind::kNull) << job;
    EXPECT_EQ(At(root, "jobs/" + job + "/runs-on").scalar, "channel") << job;
  }
  EXPECT_EQ(At(root, "jobs/build-1/container/image").scalar, "${{ vars.PTPKG_IMAGE }}");
}

TEST(Service, WithoutATargetNothingIsPublished) {
  EXPECT_THAT(*GithubWorkflow(Example()), Not(HasSubstr("ptpkg publish")));
  EXPECT_THAT(*GitlabPipeline(Example()), Not(HasSubstr("ptpkg publish")));
  Workflow workflow = Example();
  workflow.has_file = false;
  EXPECT_THAT(*GithubWorkflow(workflow), Not(HasSubstr("ptpkg ci \"")));
  EXPECT_THAT(*GitlabPipeline(workflow), Not(HasSubstr("ptpkg ci \"")));
}

TEST(Service, ImagesOfSomeJobs) {
  Workflow workflow = Example(2);
  workflow.stages[0].jobs[1].image = "cuda@sha256:1";
  const YamlNode github = Parsed(GithubWorkflow(workflow));
  EXPECT_EQ(At(github, "jobs/build-1/container/image").scalar, "${{ matrix.image }}");
  EXPECT_EQ(At(github, "jobs/build-1/strategy/matrix/include/0/image").scalar, "${{ vars.PTPKG_IMAGE }}");
  EXPECT_EQ(At(github, "jobs/build-1/strategy/matrix/include/1/image").scalar, "cuda@sha256:1");
  const YamlNode gitlab = Parsed(GitlabPipeline(workflow));
  EXPECT_EQ(At(gitlab, "default/image").scalar, "$PTPKG_IMAGE");
  EXPECT_EQ(At(gitlab, "build 1-toy-0/image").kind, YamlNode::Kind::kNull);
  EXPECT_EQ(At(gitlab, "build 1-toy-1/image").scalar, "cuda@sha256:1");
}

TEST(Gitlab, ASourceThatIsTheCheckoutIsCopied) {
  Workflow workflow = Example();
  EXPECT_THAT(At(Parsed(GitlabPipeline(workflow)), ".build/script/0").scalar, Not(HasSubstr("tar -C")));
  workflow.builds_checkout = true;
  EXPECT_THAT(At(Parsed(GitlabPipeline(workflow)), ".build/script/0").scalar, HasSubstr("tar -C"));
}

}  // namespace
}  // namespace ptpkg::ci
