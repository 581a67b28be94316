// A job of GitHub plans again in its checkout, so each setting of the plan is among its arguments. Jobs of
// GitLab and Kubernetes read the plan that was made here.

#include "pipeline/matrix/hosted_run.h"

#include <fmt/core.h>
#include <utility>

#include "pipeline/commands/ci_jobs.h"
#include "pipeline/commands/ci_workflow.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

/// Programs and directories of --python-exe and its like: those in the repository by their place there.
Result<void> AddTools(const char* option, const std::string& list, const AbsPath& root,
                      std::vector<std::string>& words) {
  if (list.empty()) return Ok();
  std::vector<std::string> parts;
  for (const std::string& text : Split(list, ':')) {
    const Result<AbsPath> path = AbsPath::Parse(text);
    if (!path || !path->IsWithin(root)) {
      parts.push_back(text);
      continue;
    }
    PTPKG_TRY(const std::string word, CommandWord(*path, root));
    parts.push_back(word.starts_with("./") ? word : "./" + word);  // else a name to look up on PATH
  }
  words.push_back(fmt::format("{}={}", option, Join(parts, ":")));
  return Ok();
}

/// The words with which a job in the repository makes the same plan.
Result<std::vector<std::string>> PlanArguments(Env& env, const MatrixRequest& request, const AbsPath& root) {
  const BuildRequest& build = request.build;
  std::vector<std::string> words;
  for (const AbsPath& recipe : build.recipes) {
    PTPKG_TRY(std::string word, CommandWord(recipe, root));
    words.push_back(std::move(word));
  }
  PTPKG_TRY(const std::vector<std::string> common, CommonArguments(build, root));
  words.insert(words.end(), common.begin(), common.end());
  PTPKG_TRY(const std::vector<std::string> choices,
            ChoiceArguments(env, build.select, request.sources, root));
  words.insert(words.end(), choices.begin(), choices.end());
  PTPKG_CHECK(AddTools("--python-exe", build.tools.python, root, words));
  PTPKG_CHECK(AddTools("--conda-exe", build.tools.conda_exe, root, words));
  PTPKG_CHECK(AddTools("--cuda-home", build.tools.cuda_home, root, words));
  if (build.ccache) words.emplace_back("--ccache");
  if (!build.preflight) words.emplace_back("--no-preflight");
  if (env.offline) words.emplace_back("--offline");
  if (!build.remote_cache.url.empty()) words.push_back("--remote-cache=" + build.remote_cache.url);
  if (build.remote_cache.read_only) words.emplace_back("--remote-cache-read-only");
  if (request.lease_seconds != MatrixRequest{}.lease_seconds)
    words.push_back(fmt::format("--lease={}", request.lease_seconds));
  for (const std::string& word : words) PTPKG_CHECK(CheckSingleLine("the argument", word));
  return words;
}

/// "CLAIM:PATH" of --volume. Errors: kUsage; also for a run, cache or output directory outside of PATH.
Result<std::pair<std::string, AbsPath>> ReadVolume(const std::string& volume, const matrix::Run& run) {
  const std::size_t colon = volume.find(':');
  const auto path = colon == std::string::npos ? Result<AbsPath>(Error(ErrorCode::kUsage, ""))
                                               : AbsPath::Parse(std::string_view(volume).substr(colon + 1));
  if (colon == 0 || !path) {
    return Error(ErrorCode::kUsage, fmt::format("--volume '{}' is not CLAIM:PATH", volume))
        .WithHint("name the claim of the shared volume and its mount point: --volume ptpkg:/shared");
  }
  for (const AbsPath& shared : {run.folder, run.settings.cache, run.settings.output}) {
    if (shared.IsWithin(*path)) continue;
    return Error(ErrorCode::kUsage,
                 fmt::format("'{}' is not on the volume at '{}'", shared.str(), path->str()))
        .WithHint("choose --run, --output and --cache-dir below the mount point");
  }
  return std::pair(volume.substr(0, colon), *path);
}

Result<std::string> PlaceOf(const char* option, const AbsPath& place, const AbsPath& root) {
  Result<std::string> word = CommandWord(place, root);
  if (word && *word != ".") return word;
  return Error(ErrorCode::kUsage, fmt::format("'{}' is not in the repository '{}', so jobs don't find it",
                                              place.str(), root.str()))
      .WithHint(fmt::format("choose a directory in the repository with {}", option));
}

Result<std::vector<matrix::HostedFile>> CiFiles(Env& env, const MatrixRequest& request,
                                                const matrix::Run& run) {
  PTPKG_TRY(const AbsPath root, RepositoryOf(env, request.build.recipes.front()));
  matrix::HostedRequest hosted{.image = request.image};
  PTPKG_TRY(hosted.labels, ParseLabels(Join(request.labels, ",")));
  PTPKG_TRY(hosted.arguments, PlanArguments(env, request, root));
  if (request.engine == "github") return matrix::GithubFiles(run, hosted);
  PTPKG_TRY(hosted.run, PlaceOf("--run", run.folder, root));
  PTPKG_TRY(hosted.cache, PlaceOf("--cache-dir", run.settings.cache, root));
  PTPKG_TRY(hosted.output, PlaceOf("--output", run.settings.output, root));
  return matrix::GitlabFiles(run, hosted);
}

}  // namespace

bool IsCi(const std::string& engine) { return engine == "github" || engine == "gitlab"; }

bool PlansInWorkflow(const Env& env) { return !env.Variable("PTPKG_ARGUMENTS").empty(); }

Result<std::vector<matrix::HostedFile>> HostedFiles(Env& env, const MatrixRequest& request,
                                                    const matrix::Run& run) {
  if (IsCi(request.engine)) return CiFiles(env, request, run);
  if (request.engine != "kubernetes") return std::vector<matrix::HostedFile>();
  if (request.image.empty() || request.volume.empty())
    return Error(ErrorCode::kUsage, "--on kubernetes needs --image and --volume");
  PTPKG_TRY(const auto volume, ReadVolume(request.volume, run));
  return matrix::KubernetesFiles(
      run,
      {.image = request.image, .claim = volume.first, .mount = volume.second, .program = request.program});
}

}  // namespace ptpkg::pipeline
