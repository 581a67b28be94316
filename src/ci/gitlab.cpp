#include "ci/gitlab.h"

#include <fmt/core.h>

#include "ci/scripts.h"
#include "ci/template.h"
#include "support/text/text.h"

namespace ptpkg::ci {
namespace {

constexpr std::size_t kGitlabFileBytes = 2'000'000;  // of an instance whose limits are the usual ones
constexpr std::string_view kFolder = "$CI_PROJECT_DIR/.ptpkg-ci/dist";

constexpr std::string_view kGitlabPipeline = R"yaml(# Written by: @command@
# Change the recipe or these options and write it again; what is edited by hand
# is replaced with --force only.
---
stages: [@stages@]

workflow:
  # One pipeline of a push, not one of the branch and one of its merge request.
  # Those of forks run in the fork, which has no variable of this project,
  # unless a member runs them in this project.
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_COMMIT_TAG
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
      @all_pushes@

default:
  # Where ptpkg comes from: the variable is NAME@sha256:…, so that another image
  # under the same tag does not slip in. Scripts want bash there.
  @image@
  @tags@
  interruptible: true  # a newer push makes this pipeline useless
  before_script:
    - |
      @look@

variables:
  # In the checkout, because GitLab keeps nothing else.
  PTPKG_CACHE_DIR: $CI_PROJECT_DIR/.ptpkg-ci/cache
  PTPKG_CACHE_SIZE:
    value: @cache_size@
    expand: false

.build:
  timeout: @job_timeout@ minutes
  variables:
    # Shorter than the job, so that a build that is stopped keeps its cache.
    RUNNER_SCRIPT_TIMEOUT: @timeout@m
  cache:
    # ptpkg looks its results up by digests of all their inputs, so an old cache
    # is never wrong. Protected branches and tags have caches of their own.
    key: ptpkg-$PTPKG_JOB
    paths: [.ptpkg-ci/cache]
    when: always  # the next run goes on where a failed one ended
  script:
    - |
      @build@
  after_script:
    - |
      @clean@
  artifacts:
    name: ptpkg-$PTPKG_JOB
    paths: [.ptpkg-ci/dist/$PTPKG_JOB]
    when: always  # with the logs of a failure
    expire_in: 1 week

@jobs@
)yaml";

// The pipeline that a newer push cancels would have published too.
constexpr std::string_view kKeepOlder = R"yaml(auto_cancel:
  on_new_commit: none  # each push is published
)yaml";

constexpr std::string_view kGitlabCompare = R"yaml(current:
  # A variant that was added to the recipe has no job before this file has it.
  stage: build-1
  variables:
    PTPKG_CI:
      value: @words@
      expand: false
  script:
    - |
      @script@

)yaml";

constexpr std::string_view kGitlabBuild = R"yaml(# @title@
build @id@:
  extends: .build
  stage: @stage@
  @image@
  @tags@
  variables:
    PTPKG_JOB: @job@
    # Values of the recipe reach scripts by variables only, one word a line.
    PTPKG_ARGUMENTS:
      value: @arguments@
      expand: false
  @earlier@

)yaml";

constexpr std::string_view kGitlabEarlier = R"yaml(  PTPKG_FOLDERS: @folders@
script:
  - |
    @script@
    @build@
)yaml";

constexpr std::string_view kGitlabPublish = R"yaml(@key@:
  @comment@
  stage: publish
  rules:
    @rules@
  @rights@
  timeout: 120 minutes
  variables:
    PTPKG_FOLDERS: @folders@
    PTPKG_TARGET:
      value: @target@
      expand: false
  script:
    - |
      @script@

)yaml";

// Only protected refs: whoever may push any tag may not publish by that.
constexpr std::string_view kOnTag = R"yaml($CI_COMMIT_TAG && $CI_COMMIT_REF_PROTECTED == "true")yaml";
constexpr std::string_view kOnBranch =
    R"yaml($CI_PIPELINE_SOURCE == "push" && $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH && $CI_COMMIT_REF_PROTECTED == "true")yaml";

constexpr std::string_view kCopyCheckout =
    R"yaml(# Neither cache nor output may lie in a source, and this one is the checkout.
source="$CI_PROJECT_DIR.source"
rm -rf "$source"
mkdir "$source"
tar -C "$CI_PROJECT_DIR" --exclude=./.git --exclude=./.ptpkg-ci -cf - . |
  tar -C "$source" -xf -
cd "$source"
)yaml";

// The AWS CLI of the image, because ptpkg takes keys and no identities.
constexpr std::string_view kTakeRole = R"yaml(token=$(mktemp)
printf '%s' "$PTPKG_AWS_TOKEN" >"$token"
keys=$(AWS_ROLE_ARN="$PTPKG_AWS_ROLE" AWS_WEB_IDENTITY_TOKEN_FILE="$token" \
  aws configure export-credentials --format env)
rm "$token"
eval "$keys"
)yaml";

std::string Image(const std::string& image) {
  return image.empty() ? "" : fmt::format("image: {}\n", Quoted(image));
}

std::string Tags(const std::vector<std::string>& labels) {
  std::vector<std::string> quoted;
  for (const std::string& label : labels) quoted.push_back(Quoted(label));
  return quoted.empty() ? "" : fmt::format("tags: [{}]\n", Join(quoted, ", "));
}

class GitlabWriter {
 public:
  explicit GitlabWriter(const Workflow& workflow) : workflow_(workflow) {}

  std::string Write() {
    constexpr std::uint64_t kMinutesAround = 25;  // for the cache and the artifacts
    std::vector<std::string> stages;
    if (workflow_.has_file) {
      jobs_ += Fill(kGitlabCompare,
                    {{"words", Quoted(Words(workflow_.arguments))}, {"script", CompareWorkflow()}});
    }
    for (const Stage& stage : workflow_.stages) {
      stages.push_back(fmt::format("build-{}", stages.size() + 1));
      AddStage(stage, stages.back());
    }
    if (workflow_.publication) {
      stages.emplace_back("publish");
      AddPublish(true);
      AddPublish(false);
    }
    std::vector<std::string> command = {"ptpkg", "ci"};
    command.insert(command.end(), workflow_.arguments.begin(), workflow_.arguments.end());
    while (jobs_.ends_with('\n')) jobs_.pop_back();
    const bool publishes_pushes = workflow_.publication && workflow_.publication->on_branch;
    return Fill(kGitlabPipeline,
                {{"command", ShellLine(command)},
                 {"stages", Join(stages, ", ")},
                 {"image", workflow_.image.empty() ? "image: $PTPKG_IMAGE\n" : Image(workflow_.image)},
                 {"tags", Tags(workflow_.labels)},
                 {"all_pushes", publishes_pushes ? std::string(kKeepOlder) : ""},
                 {"look", LookForPtpkg()},
                 {"cache_size", Quoted(workflow_.cache_size)},
                 {"timeout", std::to_string(workflow_.timeout_minutes)},
                 {"job_timeout", std::to_string(workflow_.timeout_minutes + kMinutesAround)},
                 {"build", BuildScript()},
                 {"clean", CleanCache()},
                 {"jobs", jobs_}});
  }

 private:
  [[nodiscard]] std::string BuildScript() const {
    return (workflow_.builds_checkout ? std::string(kCopyCheckout) : "") +
           Build(std::string(kFolder) + "/$PTPKG_JOB");
  }

  void AddStage(const Stage& stage, const std::string& name) {
    std::string earlier;
    if (folders_ > 0) {
      earlier = Fill(kGitlabEarlier,
                     {{"folders", Quoted(std::to_string(folders_))},
                      {"script", CollectEarlierPackages(kFolder, std::string(kFolder) + "/$PTPKG_JOB")},
                      {"build", BuildScript()}});
    }
    for (const Job& job : stage.jobs) {
      jobs_ += Fill(kGitlabBuild, {{"title", job.title},
                                   {"id", job.id},
                                   {"job", Quoted(job.id)},
                                   {"stage", name},
                                   {"image", job.image == workflow_.image ? "" : Image(job.image)},
                                   {"tags", job.labels == workflow_.labels ? "" : Tags(job.labels)},
                                   {"arguments", Quoted(Words(job.arguments))},
                                   {"earlier", earlier}});
    }
    folders_ += stage.jobs.size();
  }

  [[nodiscard]] std::string Rights() const {
    const Publication& publication = *workflow_.publication;
    std::string text =
        "# Variables of this environment reach no job that builds: they have scripts of\n"
        "# recipes.\n"
        "environment: publish\ninterruptible: false\nresource_group: publish\n";
    if (publication.identity == Identity::kIndex) {
      text += fmt::format("id_tokens:\n  {}:\n    aud: {}  # the index trusts this project\n",
                          publication.secrets.front(), Quoted(publication.audience));
    }
    if (publication.identity == Identity::kRole) {
      text += "id_tokens:\n  PTPKG_AWS_TOKEN:\n    aud: sts.amazonaws.com  # the role trusts this project\n";
    }
    if (publication.identity == Identity::kToken) {
      text +=
          fmt::format("# {}: masked and protected, for this environment.\n", Join(publication.secrets, ", "));
    }
    return text;
  }

  void AddPublish(bool dry) {
    const Publication& publication = *workflow_.publication;
    const std::string condition(publication.on_branch ? kOnBranch : kOnTag);
    const bool role = !dry && publication.identity == Identity::kRole;
    jobs_ += Fill(
        kGitlabPublish,
        {{"key", dry ? "rehearse" : "publish"},
         {"comment", dry ? "# The target's rules, before there is anything to publish."
                         : "# Once all variants are built, all of them at once or none. Of protected "
                           "tags\n# and branches only, as the variables should be.\n"},
         {"rules", fmt::format("- if: {}\n", condition) + (dry ? "  when: never\n- when: on_success\n" : "")},
         {"rights", dry ? "" : Rights()},
         {"folders", Quoted(std::to_string(folders_))},
         {"target", Quoted(Words(publication.arguments))},
         {"script", (role ? std::string(kTakeRole) : "") + ci::Publish(kFolder, dry)}});
  }

  const Workflow& workflow_;
  std::size_t folders_ = 0;  ///< That the stages so far make.
  std::string jobs_;
};

}  // namespace

Result<std::string> GitlabPipeline(const Workflow& workflow) {
  std::string text = GitlabWriter(workflow).Write();
  if (text.size() <= kGitlabFileBytes) return text;
  return Error(ErrorCode::kUnsupported,
               fmt::format("the pipeline has {} bytes, but GitLab accepts {}", text.size(), kGitlabFileBytes))
      .WithHint("write several workflows, each with some variants: --select and --output");
}

}  // namespace ptpkg::ci
