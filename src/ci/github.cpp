// The workflow is text from templates (data/), filled with quoted values. Values never become part of a
// script. They reach it through variables (scripts.h), so a recipe's name or a branch cannot inject commands.
//
// Security decisions, as zizmor's audits ask for them:
// - actions are pinned by commit, because a tag can be moved to other code
// - build jobs run scripts of recipes, so they get no secrets and only read access
// - the job that publishes has more rights, and runs for pushes only
// - a pull request rehearses the publication without credentials
//
// GitHub limits a matrix to 256 jobs and a file to 500 kB. Stages with more jobs are split into several
// matrices. The names of artifacts begin with the stage's number, so that a later stage downloads all earlier
// ones by a pattern.

#include "ci/github.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "ci/github_templates.h"
#include "ci/scripts.h"
#include "ci/template.h"
#include "support/text/text.h"

namespace ptpkg::ci {
namespace {

using Values = std::map<std::string, std::string>;

constexpr const char* kGithubImageVariable = "${{ vars.PTPKG_IMAGE }}";

std::string_view GithubTemplate(std::string_view name) { return FindTemplate(kGithubTemplates, name); }

std::string Container(const std::string& image) {
  return image.empty() ? std::string(GithubTemplate("container"))
                       : fmt::format("container:\n  image: {}\n", QuotedForGithub(image));
}

/// `values`, and what several jobs share. `image`: of the job; `variable`: its name comes from a variable.
Values With(Values values, bool variable) {
  values.insert(GithubActions().begin(), GithubActions().end());
  values.emplace("checkout_step", Fill(GithubTemplate("checkout"), GithubActions()));
  std::string look = Fill(GithubTemplate("look_for_ptpkg"), {{"script", LookForPtpkg()}});
  if (!variable) look = ReplaceAll(look, "  env:\n    PTPKG_IMAGE: ${{ vars.PTPKG_IMAGE }}\n", "");
  values.emplace("look", look);
  return values;
}

std::string Matrix(const std::vector<Job>& jobs, bool images) {
  std::string text;
  for (const Job& job : jobs) {
    text += fmt::format("- id: {}\n  title: {}\n  runner: {}\n", Quoted(job.id), QuotedForGithub(job.title),
                        GithubRunner(job.labels));
    if (images) {
      const std::string image = job.image.empty() ? Quoted(kGithubImageVariable) : QuotedForGithub(job.image);
      text += fmt::format("  image: {}\n", image);
    }
    text += fmt::format("  arguments: {}\n", QuotedForGithub(Words(job.arguments)));
  }
  return text;
}

class GithubWriter {
 public:
  explicit GithubWriter(const Workflow& workflow) : workflow_(workflow) {
    images_.insert(workflow.image);
    for (const Stage& stage : workflow.stages) {
      for (const Job& job : stage.jobs) images_.insert(job.image);
    }
  }

  std::string Write() {
    if (workflow_.has_file) AddCompare();
    for (std::size_t i = 0; i < workflow_.stages.size(); ++i) AddStage(i);
    if (workflow_.publication) {
      AddPublish(true);
      AddPublish(false);
    }
    std::vector<std::string> command = {"ptpkg", "ci"};
    command.insert(command.end(), workflow_.arguments.begin(), workflow_.arguments.end());
    while (jobs_.ends_with('\n')) jobs_.pop_back();
    return Fill(GithubTemplate("workflow"), {{"command", ShellLine(command)},
                                             {"name", QuotedForGithub(workflow_.name)},
                                             {"branch", QuotedForGithub(workflow_.branch)},
                                             {"jobs", jobs_}});
  }

 private:
  void AddCompare() {
    jobs_ += Fill(GithubTemplate("compare"), With({{"runner", GithubRunner(workflow_.labels)},
                                                   {"container", Container(workflow_.image)},
                                                   {"words", QuotedForGithub(Words(workflow_.arguments))},
                                                   {"script", CompareWorkflow()}},
                                                  workflow_.image.empty()));
  }

  void AddStage(std::size_t index) {
    const std::vector<Job>& jobs = workflow_.stages[index].jobs;
    const std::string needs = before_.empty() ? "" : fmt::format("needs: [{}]\n", Join(before_, ", "));
    const std::size_t parts = (jobs.size() + kGithubJobsPerMatrix - 1) / kGithubJobsPerMatrix;
    std::vector<std::string> keys;
    for (std::size_t part = 0; part < parts; ++part) {
      const auto begin = jobs.begin() + static_cast<std::ptrdiff_t>(part * kGithubJobsPerMatrix);
      const auto end = parts == part + 1 ? jobs.end() : begin + kGithubJobsPerMatrix;
      keys.push_back(parts == 1 ? fmt::format("build-{}", index + 1)
                                : fmt::format("build-{}-{}", index + 1, part + 1));
      jobs_ += Fill(GithubTemplate("build"), BuildValues(keys.back(), needs, {begin, end}, index));
    }
    before_.insert(before_.end(), keys.begin(), keys.end());
    folders_ += jobs.size();
  }

  Values BuildValues(const std::string& key, const std::string& needs, const std::vector<Job>& jobs,
                     std::size_t index) {
    constexpr std::uint64_t kMinutesAround = 25;  // for the steps before and after
    const bool several = images_.size() > 1;
    return With(
        {{"key", key},
         {"needs", needs},
         {"container", several ? "container:\n  image: ${{ matrix.image }}\n" : Container(workflow_.image)},
         {"timeout", std::to_string(workflow_.timeout_minutes)},
         {"job_timeout", std::to_string(workflow_.timeout_minutes + kMinutesAround)},
         {"cache_size", Quoted(workflow_.cache_size)},
         {"matrix", Matrix(jobs, several)},
         {"empty", Fill(GithubTemplate("empty"), {{"folders", "cache dist earlier"}})},
         {"earlier", index == 0 ? "" : Earlier(index)},
         {"build", Build("../dist")},
         {"clean", CleanCache()}},
        images_.contains(""));
  }

  /// Names of artifacts begin with the number of their stage.
  [[nodiscard]] std::string Earlier(std::size_t index) const {
    std::string pattern = "ptpkg-1-*";
    if (index > 1) {
      std::vector<std::string> numbers;
      for (std::size_t i = 1; i <= index; ++i) numbers.push_back(std::to_string(i));
      pattern = fmt::format("ptpkg-{{{}}}-*", Join(numbers, ","));
    }
    return Fill(GithubTemplate("earlier"), With({{"pattern", Quoted(pattern)},
                                                 {"folders", Quoted(std::to_string(folders_))},
                                                 {"script", CollectEarlierPackages("../earlier", "../dist")}},
                                                false));
  }

  [[nodiscard]] std::string PublishingEvent() const {
    return workflow_.publication->on_branch
               ? "github.event_name == 'push' && github.ref == format('refs/heads/{0}', "
                 "github.event.repository.default_branch)"
               : "github.event_name == 'push' && github.ref_type == 'tag'";
  }

  [[nodiscard]] std::string Rights() const {
    const Identity identity = workflow_.publication->identity;
    std::string permissions = "{}";
    if (identity == Identity::kIndex) permissions = "id-token: write  # the index trusts this workflow";
    if (identity == Identity::kRole) permissions = "id-token: write  # the role trusts this workflow";
    const std::string rights = Fill(GithubTemplate("publish_rights"), {{"permissions", permissions}});
    return ReplaceAll(rights, "permissions:\n  {}", "permissions: {}");
  }

  [[nodiscard]] std::string Secrets() const {
    if (workflow_.publication->identity != Identity::kToken) return "";
    std::string text = "env:\n";
    for (const std::string& name : workflow_.publication->variables) {
      text += fmt::format("  {0}: ${{{{ vars.{0} }}}}\n", name);
    }
    for (const std::string& name : workflow_.publication->secrets) {
      text += fmt::format("  {0}: ${{{{ secrets.{0} }}}}\n", name);
    }
    return text;
  }

  void AddPublish(bool dry) {
    const Publication& publication = *workflow_.publication;
    std::vector<std::string> needs = before_;
    if (workflow_.has_file) needs.insert(needs.begin(), "current");
    const std::string event = PublishingEvent();
    const bool role = !dry && publication.identity == Identity::kRole;
    const bool contained = publication.identity != Identity::kNone;
    jobs_ += Fill(GithubTemplate("publish"),
                  With({{"key", dry ? "rehearse" : "publish"},
                        {"comment", dry ? "# The target's rules, before there is anything to publish."
                                        : "# Once all variants are built, all of them at once or none."},
                        {"title", dry ? "Rehearse publishing" : "Publish"},
                        {"needs", Join(needs, ", ")},
                        {"condition", dry ? fmt::format("!({})", event) : event},
                        {"runner", GithubRunner(workflow_.labels)},
                        {"container", contained ? Container(workflow_.image) : ""},
                        {"rights", dry ? "permissions: {}\n" : Rights()},
                        {"empty", Fill(GithubTemplate("empty"), {{"folders", "dist"}})},
                        {"folders", Quoted(std::to_string(folders_))},
                        {"target", QuotedForGithub(Words(publication.arguments))},
                        {"credentials", role ? Fill(GithubTemplate("role"), GithubActions()) : ""},
                        {"secrets", dry ? "" : Secrets()},
                        {"script", ci::Publish("dist", dry)}},
                       contained && workflow_.image.empty()));
  }

  const Workflow& workflow_;
  std::set<std::string> images_;     ///< Images of all jobs.
  std::vector<std::string> before_;  ///< Jobs of the stages so far.
  std::size_t folders_ = 0;          ///< Number of directories made by the stages.
  std::string jobs_;
};

}  // namespace

// By commit, because a tag can be moved to other code. The comments name the tags.
const std::map<std::string, std::string>& GithubActions() {
  static const std::map<std::string, std::string> kActions = {
      {"checkout", "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1  # v7.0.1"},
      {"cache_restore", "actions/cache/restore@27d5ce7f107fe9357f9df03efb73ab90386fccae  # v5.0.5"},
      {"cache_save", "actions/cache/save@27d5ce7f107fe9357f9df03efb73ab90386fccae  # v5.0.5"},
      {"upload", "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f  # v7.0.0"},
      {"download", "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c  # v8.0.1"},
      {"aws", "aws-actions/configure-aws-credentials@e6de054238d6b7531b4efff3b6587d9aade6a06c  # v6.2.3"},
  };
  return kActions;
}

std::string GithubRunner(const std::vector<std::string>& labels) {
  std::vector<std::string> quoted;
  for (const std::string& label : labels) quoted.push_back(QuotedForGithub(label));
  if (quoted.empty()) return Quoted("ubuntu-24.04");
  return quoted.size() == 1 ? quoted.front() : fmt::format("[{}]", Join(quoted, ", "));
}

Result<std::string> GithubWorkflow(const Workflow& workflow) {
  std::string text = GithubWriter(workflow).Write();
  if (text.size() <= kGithubFileBytes) return text;
  return Error(ErrorCode::kUnsupported,
               fmt::format("the workflow has {} bytes, but GitHub accepts {}", text.size(), kGithubFileBytes))
      .WithHint("write several workflows, each with some variants: --select and --output");
}

}  // namespace ptpkg::ci
