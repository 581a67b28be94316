// The pipeline for GitLab CI, made like the workflow in github.cpp: templates, quoted values, and values in
// variables instead of scripts.
//
// GitLab differs in its rights. Whoever may push any tag could publish by that, so only protected refs
// publish. Secrets belong to the environment `publish`, which build jobs, with their scripts of recipes,
// don't enter. A resource group keeps two publications from running at once. `rehearse` runs wherever
// `publish` does not.

#include "ci/gitlab.h"

#include <fmt/core.h>

#include "ci/gitlab_templates.h"
#include "ci/scripts.h"
#include "ci/template.h"
#include "support/text/text.h"

namespace ptpkg::ci {
namespace {

constexpr std::string_view kFolder = "$CI_PROJECT_DIR/.ptpkg-ci/dist";

// Only protected refs: whoever may push any tag may not publish by that.
constexpr std::string_view kOnTag = R"yaml($CI_COMMIT_TAG && $CI_COMMIT_REF_PROTECTED == "true")yaml";
constexpr std::string_view kOnBranch =
    R"yaml($CI_PIPELINE_SOURCE == "push" && $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH && $CI_COMMIT_REF_PROTECTED == "true")yaml";

std::string_view GitlabTemplate(std::string_view name) { return FindTemplate(kGitlabTemplates, name); }

std::string Image(const std::string& image) {
  return image.empty() ? "" : fmt::format("image: {}\n", Quoted(image));
}

class GitlabWriter {
 public:
  explicit GitlabWriter(const Workflow& workflow) : workflow_(workflow) {}

  std::string Write() {
    constexpr std::uint64_t kMinutesAround = 25;  // for the cache and the artifacts
    std::vector<std::string> stages;
    if (workflow_.has_file) {
      jobs_ += Fill(GitlabTemplate("compare"),
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
    return Fill(GitlabTemplate("pipeline"),
                {{"command", ShellLine(command)},
                 {"stages", Join(stages, ", ")},
                 {"image", workflow_.image.empty() ? "image: $PTPKG_IMAGE\n" : Image(workflow_.image)},
                 {"tags", GitlabTags(workflow_.labels)},
                 {"all_pushes", publishes_pushes ? std::string(GitlabTemplate("keep_older")) : ""},
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
    return (workflow_.builds_checkout ? std::string(GitlabTemplate("copy_checkout")) : "") +
           Build(std::string(kFolder) + "/$PTPKG_JOB");
  }

  void AddStage(const Stage& stage, const std::string& name) {
    std::string earlier;
    if (folders_ > 0) {
      earlier = Fill(GitlabTemplate("earlier"),
                     {{"folders", Quoted(std::to_string(folders_))},
                      {"script", CollectEarlierPackages(kFolder, std::string(kFolder) + "/$PTPKG_JOB")},
                      {"build", BuildScript()}});
    }
    for (const Job& job : stage.jobs) {
      jobs_ += Fill(GitlabTemplate("build"),
                    {{"title", job.title},
                     {"id", job.id},
                     {"job", Quoted(job.id)},
                     {"stage", name},
                     {"image", job.image == workflow_.image ? "" : Image(job.image)},
                     {"tags", job.labels == workflow_.labels ? "" : GitlabTags(job.labels)},
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
        GitlabTemplate("publish"),
        {{"key", dry ? "rehearse" : "publish"},
         {"comment", dry ? "# The target's rules, before there is anything to publish."
                         : "# Once all variants are built, all of them at once or none. Of protected "
                           "tags\n# and branches only, as the variables should be.\n"},
         {"rules", fmt::format("- if: {}\n", condition) + (dry ? "  when: never\n- when: on_success\n" : "")},
         {"rights", dry ? "" : Rights()},
         {"folders", Quoted(std::to_string(folders_))},
         {"target", Quoted(Words(publication.arguments))},
         {"script", (role ? std::string(GitlabTemplate("take_role")) : "") + ci::Publish(kFolder, dry)}});
  }

  const Workflow& workflow_;
  std::size_t folders_ = 0;  ///< Number of directories made by the stages so far.
  std::string jobs_;
};

}  // namespace

std::string GitlabTags(const std::vector<std::string>& labels) {
  std::vector<std::string> quoted;
  for (const std::string& label : labels) quoted.push_back(Quoted(label));
  return quoted.empty() ? "" : fmt::format("tags: [{}]\n", Join(quoted, ", "));
}

Result<std::string> GitlabPipeline(const Workflow& workflow) {
  std::string text = GitlabWriter(workflow).Write();
  if (text.size() <= kGitlabFileBytes) return text;
  return Error(ErrorCode::kUnsupported,
               fmt::format("the pipeline has {} bytes, but GitLab accepts {}", text.size(), kGitlabFileBytes))
      .WithHint("write several workflows, each with some variants: --select and --output");
}

}  // namespace ptpkg::ci
