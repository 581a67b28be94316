#include "ci/github.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "ci/scripts.h"
#include "ci/template.h"
#include "support/text/text.h"

namespace ptpkg::ci {
namespace {

using Values = std::map<std::string, std::string>;

constexpr std::size_t kGithubJobsPerMatrix = 256;
constexpr std::size_t kGithubFileBytes = 500'000;

// By commit, because a tag can be moved to other code. The names are those of the tags.
const Values& Actions() {
  static const Values kActions = {
      {"checkout", "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1  # v7.0.1"},
      {"cache_restore", "actions/cache/restore@27d5ce7f107fe9357f9df03efb73ab90386fccae  # v5.0.5"},
      {"cache_save", "actions/cache/save@27d5ce7f107fe9357f9df03efb73ab90386fccae  # v5.0.5"},
      {"upload", "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f  # v7.0.0"},
      {"download", "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c  # v8.0.1"},
      {"aws", "aws-actions/configure-aws-credentials@e6de054238d6b7531b4efff3b6587d9aade6a06c  # v6.2.3"},
  };
  return kActions;
}

constexpr const char* kGithubUsualRunner = "ubuntu-24.04";
constexpr const char* kGithubImageVariable = "${{ vars.PTPKG_IMAGE }}";

constexpr std::string_view kGithubWorkflow = R"yaml(# Written by: @command@
# Change the recipe or these options and write it again; what is edited by hand
# is replaced with --force only.
---
name: @name@

on:  # yamllint disable-line rule:truthy
  push:
    branches: [@branch@]
    tags: ["**"]
  # From forks too. They get no secret and no identity, and publish nothing.
  pull_request:
  workflow_dispatch:

# None, but for what a job names.
permissions: {}

concurrency:
  # A push to a pull request makes its older run useless. Others have a group of
  # their own, because the one that waits in a group gives way to a newer one:
  # a release would be lost.
  group: ${{ github.workflow }}-${{ github.event_name == 'pull_request' && github.ref || github.run_id }}
  cancel-in-progress: ${{ github.event_name == 'pull_request' }}

defaults:
  run:
    shell: bash

jobs:
  @jobs@
)yaml";

// Where ptpkg comes from. The runner starts no container for an empty name.
constexpr std::string_view kGithubContainer = R"yaml(container:
  # What zizmor asks for is looked at when the job runs: the variable must
  # name a digest. Without it, the runner itself has to have ptpkg.
  image: ${{ vars.PTPKG_IMAGE }}  # zizmor: ignore[unpinned-images]
)yaml";
constexpr std::string_view kGithubLookForPtpkg = R"yaml(- name: Look for ptpkg
  env:
    PTPKG_IMAGE: ${{ vars.PTPKG_IMAGE }}
  run: |
    @script@
)yaml";
constexpr std::string_view kGithubEmpty = R"yaml(- name: Empty the workspace
  # A runner of one's own keeps what earlier jobs left.
  run: rm -rf @folders@
)yaml";
constexpr std::string_view kGithubCheckout = R"yaml(- name: Check out
  uses: @checkout@
  with:
    # Beside the cache and the output, which may not lie in a source.
    path: source
    persist-credentials: false
)yaml";

constexpr std::string_view kGithubCompare = R"yaml(current:
  # A variant that was added to the recipe has no job before this file has it.
  name: Compare this file with the recipe
  runs-on: @runner@
  @container@
  timeout-minutes: 15
  permissions:
    contents: read  # to check out
  steps:
    @checkout_step@
    @look@
    - name: Compare
      working-directory: source
      env:
        PTPKG_CI: @words@
      run: |
        @script@

)yaml";

constexpr std::string_view kGithubBuild = R"yaml(@key@:
  name: ${{ matrix.title }}
  @needs@
  runs-on: ${{ matrix.runner }}
  @container@
  # Longer than the build, so that a build that is stopped keeps its cache.
  timeout-minutes: @job_timeout@
  permissions:
    contents: read  # to check out
  strategy:
    # The other variants go on: what they make is in the cache of the next run.
    fail-fast: false
    matrix:
      include:
        @matrix@
  env:
    # Values of the recipe reach scripts by variables only, one word a line.
    PTPKG_ARGUMENTS: ${{ matrix.arguments }}
    PTPKG_CACHE_DIR: ../cache
    PTPKG_CACHE_SIZE: @cache_size@
  steps:
    @empty@
    @checkout_step@
    @look@
    - name: Restore the cache
      uses: @cache_restore@
      with:
        path: cache
        # The newest one of this variant. ptpkg looks its results up by digests
        # of all their inputs, so an old cache is never wrong.
        key: ptpkg/${{ matrix.id }}/${{ github.run_id }}-${{ github.run_attempt }}
        restore-keys: ptpkg/${{ matrix.id }}/
    @earlier@
    - name: Build, check, test
      working-directory: source
      timeout-minutes: @timeout@
      run: |
        @build@
    - name: Clean the cache
      if: ${{ !cancelled() }}
      working-directory: source
      run: |
        @clean@
    - name: Save the cache
      # After a failure too: the next run goes on where this one ended.
      if: ${{ !cancelled() }}
      uses: @cache_save@
      with:
        path: cache
        key: ptpkg/${{ matrix.id }}/${{ github.run_id }}-${{ github.run_attempt }}
    - name: Keep the logs of a failure
      if: ${{ failure() }}
      uses: @upload@
      with:
        name: logs-${{ matrix.id }}-${{ github.run_attempt }}
        path: dist/logs
        if-no-files-found: ignore
    - name: Hand over the packages
      uses: @upload@
      with:
        name: ptpkg-${{ matrix.id }}
        path: dist
        compression-level: 0  # packages are compressed
        if-no-files-found: error
        overwrite: true  # when a failed run is run again

)yaml";

constexpr std::string_view kGithubEarlier = R"yaml(- name: Fetch the packages of the recipes before
  uses: @download@
  with:
    path: earlier
    pattern: @pattern@
- name: Offer them to the build
  working-directory: source
  env:
    PTPKG_FOLDERS: @folders@
  run: |
    @script@
)yaml";

constexpr std::string_view kGithubPublish = R"yaml(@key@:
  @comment@
  name: @title@
  needs: [@needs@]
  if: ${{ @condition@ }}
  runs-on: @runner@
  @container@
  timeout-minutes: 120
  @rights@
  env:
    PTPKG_FOLDERS: @folders@
    PTPKG_TARGET: @target@
  steps:
    @empty@
    @look@
    - name: Fetch the packages
      uses: @download@
      with:
        path: dist
        pattern: ptpkg-*
    @credentials@
    - name: @title@
      @secrets@
      run: |
        @script@

)yaml";

constexpr std::string_view kGithubPublishRights =
    R"yaml(# Approvals, and who may publish, are settings of this environment.
environment: publish
permissions:
  @permissions@
)yaml";
constexpr std::string_view kGithubRole = R"yaml(- name: Get keys of the role
  uses: @aws@
  with:
    role-to-assume: ${{ vars.PTPKG_AWS_ROLE }}
    aws-region: ${{ vars.AWS_REGION }}
)yaml";

std::string Container(const std::string& image) {
  return image.empty() ? std::string(kGithubContainer)
                       : fmt::format("container:\n  image: {}\n", QuotedForGithub(image));
}

/// `values`, and what several jobs share. `image`: of the job; `variable`: its name comes from a variable.
Values With(Values values, bool variable) {
  values.insert(Actions().begin(), Actions().end());
  values.emplace("checkout_step", Fill(kGithubCheckout, Actions()));
  std::string look = Fill(kGithubLookForPtpkg, {{"script", LookForPtpkg()}});
  if (!variable) look = ReplaceAll(look, "  env:\n    PTPKG_IMAGE: ${{ vars.PTPKG_IMAGE }}\n", "");
  values.emplace("look", look);
  return values;
}

std::string Runner(const std::vector<std::string>& labels) {
  std::vector<std::string> quoted;
  for (const std::string& label : labels) quoted.push_back(QuotedForGithub(label));
  if (quoted.empty()) return Quoted(kGithubUsualRunner);
  return quoted.size() == 1 ? quoted.front() : fmt::format("[{}]", Join(quoted, ", "));
}

std::string Matrix(const std::vector<Job>& jobs, bool images) {
  std::string text;
  for (const Job& job : jobs) {
    text += fmt::format("- id: {}\n  title: {}\n  runner: {}\n", Quoted(job.id), QuotedForGithub(job.title),
                        Runner(job.labels));
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
    return Fill(kGithubWorkflow, {{"command", ShellLine(command)},
                                  {"name", QuotedForGithub(workflow_.name)},
                                  {"branch", QuotedForGithub(workflow_.branch)},
                                  {"jobs", jobs_}});
  }

 private:
  void AddCompare() {
    jobs_ += Fill(kGithubCompare, With({{"runner", Runner(workflow_.labels)},
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
      jobs_ += Fill(kGithubBuild, BuildValues(keys.back(), needs, {begin, end}, index));
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
         {"empty", Fill(kGithubEmpty, {{"folders", "cache dist earlier"}})},
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
    return Fill(kGithubEarlier, With({{"pattern", Quoted(pattern)},
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
    const std::string rights = Fill(kGithubPublishRights, {{"permissions", permissions}});
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
    jobs_ += Fill(kGithubPublish,
                  With({{"key", dry ? "rehearse" : "publish"},
                        {"comment", dry ? "# The target's rules, before there is anything to publish."
                                        : "# Once all variants are built, all of them at once or none."},
                        {"title", dry ? "Rehearse publishing" : "Publish"},
                        {"needs", Join(needs, ", ")},
                        {"condition", dry ? fmt::format("!({})", event) : event},
                        {"runner", Runner(workflow_.labels)},
                        {"container", contained ? Container(workflow_.image) : ""},
                        {"rights", dry ? "permissions: {}\n" : Rights()},
                        {"empty", Fill(kGithubEmpty, {{"folders", "dist"}})},
                        {"folders", Quoted(std::to_string(folders_))},
                        {"target", QuotedForGithub(Words(publication.arguments))},
                        {"credentials", role ? Fill(kGithubRole, Actions()) : ""},
                        {"secrets", dry ? "" : Secrets()},
                        {"script", ci::Publish("dist", dry)}},
                       contained && workflow_.image.empty()));
  }

  const Workflow& workflow_;
  std::set<std::string> images_;     ///< Of all jobs.
  std::vector<std::string> before_;  ///< Jobs of the stages so far.
  std::size_t folders_ = 0;          ///< That they make.
  std::string jobs_;
};

}  // namespace

Result<std::string> GithubWorkflow(const Workflow& workflow) {
  std::string text = GithubWriter(workflow).Write();
  if (text.size() <= kGithubFileBytes) return text;
  return Error(ErrorCode::kUnsupported,
               fmt::format("the workflow has {} bytes, but GitHub accepts {}", text.size(), kGithubFileBytes))
      .WithHint("write several workflows, each with some variants: --select and --output");
}

}  // namespace ptpkg::ci
