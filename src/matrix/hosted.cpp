// Hosted machines share no directory. So a job packs what it added to run, cache and output into one archive,
// and unpacks the archives of all earlier jobs. Results have names by content, so archives of parallel jobs
// never collide; the manifest of the output directory would, so the last job publishes
// (Publishing::kInLastJob).
//
// An archive, and not a list of files: services store files without mode, links and empty directories. The
// time of a change (ctime) selects them, because builds set other times as they like.

#include "matrix/hosted.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <tuple>

#include "ci/github.h"
#include "ci/gitlab.h"
#include "ci/template.h"
#include "matrix/hosted_templates.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::matrix {

namespace {

using Values = std::map<std::string, std::string>;

constexpr std::uint64_t kUsualMinutes = 350;  // GitHub stops a job after six hours
// The engine's limit comes later than the one of run-node, which alone records that the job has failed. It
// begins earlier: before the image is pulled and earlier results are fetched.
constexpr std::uint64_t kMarginMinutes = 30;
constexpr std::uint64_t kMegabyte = 1U << 20U;

/// The engine's time limit for a job; 0: none.
std::uint64_t LimitMinutes(const Resources& resources) {
  return resources.minutes == 0 ? 0 : resources.minutes + kMarginMinutes;
}

std::string_view Template(std::string_view name) { return ci::FindTemplate(kHostedTemplates, name); }

std::string ValueOf(const Job& job, const std::string& key) {
  const auto found = job.variant.find(key);
  return found == job.variant.end() || ToLower(found->second) == "none" ? "" : found->second;
}

/// "cu130" of "13.0".
std::string Squeezed(const std::string& version) { return "cu" + ReplaceAll(version, ".", ""); }

std::string PackageType(const Job& job) {
  const auto makes = [&](std::string_view stage) {
    return std::any_of(job.nodes.begin(), job.nodes.end(),
                       [&](const auto& node) { return node.starts_with(stage); });
  };
  if (makes("wheel/")) return "manywheel";
  return makes("zip/") ? "libtorch" : "conda";
}

std::vector<std::vector<const Job*>> Levels(const JobGraph& graph) {
  std::vector<std::vector<const Job*>> levels(graph.LevelCount());
  for (const Job& job : graph.jobs) levels[job.level].push_back(&job);
  return levels;
}

std::uint64_t LongestMinutes(const std::vector<const Job*>& jobs) {
  std::uint64_t minutes = 0;
  for (const Job* job : jobs) {
    const std::uint64_t limit = LimitMinutes(job->resources);
    minutes = std::max(minutes, limit == 0 ? kUsualMinutes : limit);
  }
  return minutes;
}

/// True if a job reads the tree of a build of another job.
bool SharesBuilds(const Run& run) {
  return std::any_of(run.graph.jobs.begin(), run.graph.jobs.end(), [](const Job& job) {
    return std::any_of(job.nodes.begin(), job.nodes.end(),
                       [](const auto& node) { return node.starts_with("outputs/"); });
  });
}

std::string UnpackScript(const Run& run, const HostedRequest& request, const std::string& pattern) {
  const std::string builds = ci::ShellLine({request.cache + "/stages/results/build/*"});
  return ci::Fill(Template("unpack_script"),
                  {{"pattern", pattern},
                   {"run", ci::ShellLine({request.run})},
                   {"kept", ci::ShellLine({request.run, request.cache + "/stages", request.cache + "/waiting",
                                           request.output})},
                   {"without", SharesBuilds(run) ? "" : fmt::format("! -path {} ", builds)}});
}

Result<void> CheckSize(const char* what, std::size_t size, std::size_t most, const char* service) {
  if (size <= most) return Ok();
  return Error(ErrorCode::kUnsupported,
               fmt::format("{} {} bytes, but {} takes {}", what, size, service, most))
      .WithHint("start several runs, each with some variants: --select");
}

/// Errors: kUnsupported for a job that asks for GPUs while no label chooses a runner that has some.
Result<void> CheckGpus(const Run& run, const std::vector<std::string>& labels) {
  const auto job = std::find_if(run.graph.jobs.begin(), run.graph.jobs.end(),
                                [](const Job& one) { return one.resources.gpus > 0; });
  if (job == run.graph.jobs.end() || !labels.empty()) return Ok();
  return Error(ErrorCode::kUnsupported, fmt::format("job '{}' asks for {}, which the usual runners lack",
                                                    job->id, Plural(job->resources.gpus, "GPU")))
      .WithHint("choose runners that have them: --runner LABELS");
}

std::string Container(const std::string& image) {
  return fmt::format("container:\n  image: {}\n",
                     image.empty() ? "${{ vars.PTPKG_IMAGE }}  # zizmor: ignore[unpinned-images]"
                                   : ci::QuotedForGithub(image));
}

std::string CommandLine(const HostedRequest& request, const char* engine,
                        const std::vector<std::string>& places = {}) {
  std::vector<std::string> words = {"ptpkg", "matrix"};
  words.insert(words.end(), request.arguments.begin(), request.arguments.end());
  words.insert(words.end(), {"--on", engine});
  words.insert(words.end(), places.begin(), places.end());
  if (!request.image.empty()) words.push_back("--image=" + request.image);
  for (const std::string& label : request.labels) words.push_back("--runner=" + label);
  return ci::ShellLine(words);
}

/// "512Mi", "2": a job's resources in Kubernetes' units.
std::string Mebibytes(std::uint64_t bytes) {
  return fmt::format("{}Mi", (bytes + kMegabyte - 1) / kMegabyte);
}

std::string GitlabJobs(const Run& run, const HostedRequest& request) {
  const std::string script = UnpackScript(run, request, "results/*.tar");
  std::string text;
  for (const Job& job : run.graph.jobs) {
    const std::uint64_t limit = LimitMinutes(job.resources);
    const std::string timeout = limit == 0 ? "" : fmt::format("timeout: {} minutes\n", limit);
    text += ci::Fill(Template("gitlab_job"), {{"name", ci::Quoted(job.id)},
                                              {"id", ci::Quoted(ReplaceAll(job.id, "$", "$$"))},
                                              {"stage", fmt::format("level-{}", job.level + 1)},
                                              {"timeout", timeout},
                                              {"artifact", ci::Quoted("results/" + job.id + ".tar")},
                                              {"job_script", script}});
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

Json IncludeEntry(const Job& job) {
  const std::string cuda = ValueOf(job, "cuda_compiler_version");
  const std::string rocm = ValueOf(job, "rocm_version");
  const std::string type = !cuda.empty() ? "cuda" : !rocm.empty() ? "rocm" : "cpu";
  return {{"id", job.id},
          {"build_name", job.id},
          {"DESIRED_PYTHON", ValueOf(job, "python")},
          {"DESIRED_CUDA", type == "cuda"   ? Squeezed(cuda)
                           : type == "rocm" ? "rocm" + rocm
                                            : "cpu"},
          {"GPU_ARCH_TYPE", type},
          {"GPU_ARCH_VERSION", cuda.empty() ? rocm : cuda},
          {"PACKAGE_TYPE", PackageType(job)}};
}

Result<std::vector<HostedFile>> GithubFiles(const Run& run, const HostedRequest& request) {
  PTPKG_CHECK(CheckGpus(run, request.labels));
  std::vector<HostedFile> files;
  std::string outputs;
  std::string levels;
  std::vector<std::string> before = {"plan"};
  std::vector<std::string> all;
  const Values shared = {{"runner", ci::GithubRunner(request.labels)},
                         {"container", Container(request.image)},
                         {"job_script", UnpackScript(run, request, "earlier/*/job.tar")}};
  std::size_t number = 0;
  std::size_t entries = 0;  // size of all matrices
  for (const std::vector<const Job*>& jobs : Levels(run.graph)) {
    ++number;
    std::vector<std::string> keys;
    for (std::size_t begin = 0, chunk = 1; begin < jobs.size(); begin += ci::kGithubJobsPerMatrix, ++chunk) {
      Json include = Json::array();
      const std::size_t end = std::min(jobs.size(), begin + ci::kGithubJobsPerMatrix);
      for (std::size_t i = begin; i < end; ++i) include.push_back(IncludeEntry(*jobs[i]));
      const std::string key = fmt::format("level-{}-{}", number, chunk);
      const std::string output = ReplaceAll(key, "-", "_");
      files.push_back({.name = fmt::format("github/{}.json", key), .text = DumpJson({{"include", include}})});
      entries += files.back().text.size();
      outputs += fmt::format("{0}: ${{{{ steps.plan.outputs.{0} }}}}\n", output);
      Values values = {{"key", key},
                       {"output", output},
                       {"needs", Join(before, ", ")},
                       {"level", std::to_string(number)},
                       {"timeout", std::to_string(LongestMinutes(jobs))}};
      values.insert(shared.begin(), shared.end());
      values.insert(ci::GithubActions().begin(), ci::GithubActions().end());
      levels += ci::Fill(Template("github_level"), values);
      keys.push_back(key);
    }
    before.insert(before.end(), keys.begin(), keys.end());
    all.insert(all.end(), keys.begin(), keys.end());
  }
  while (levels.ends_with('\n')) levels.pop_back();
  Values values = {{"command", CommandLine(request, "github")},
                   {"words", ci::QuotedForGithub(ci::Words(request.arguments))},
                   {"outputs", outputs},
                   {"levels", levels},
                   {"plan_script", ci::Fill(Template("github_plan"), {{"keys", Join(all, " ")}})}};
  values.insert(shared.begin(), shared.end());
  values.insert(ci::GithubActions().begin(), ci::GithubActions().end());
  files.push_back({.name = "github/matrix.yml", .text = ci::Fill(Template("github"), values)});
  PTPKG_CHECK(CheckSize("the file has", files.back().text.size(), ci::kGithubFileBytes, "GitHub"));
  // The first job hands the matrices to the others as its outputs.
  PTPKG_CHECK(CheckSize("the lists of jobs have", 2 * entries, ci::kGithubOutputBytes, "GitHub"));
  return files;
}

Result<std::vector<HostedFile>> GitlabFiles(const Run& run, const HostedRequest& request) {
  PTPKG_CHECK(CheckGpus(run, request.labels));
  std::vector<std::string> stages;
  for (std::size_t level = 1; level <= run.graph.LevelCount(); ++level)
    stages.push_back(fmt::format("level-{}", level));
  std::string text = ci::Fill(
      Template("gitlab"),
      {{"command",
        CommandLine(request, "gitlab",
                    {"--run=" + request.run, "--output=" + request.output, "--cache-dir=" + request.cache})},
       {"pack", ci::ShellLine({"tar", "-cf", "run.tar", request.run})},
       {"child", request.run + "/gitlab/child.yml"},
       {"stages", Join(stages, ", ")},
       {"image",
        fmt::format("image: {}\n", request.image.empty() ? "$PTPKG_IMAGE" : ci::Quoted(request.image))},
       {"tags", ci::GitlabTags(request.labels)},
       {"jobs", GitlabJobs(run, request)}});
  PTPKG_CHECK(CheckSize("the file has", text.size(), ci::kGitlabFileBytes, "GitLab"));
  return std::vector<HostedFile>{{.name = "gitlab/child.yml", .text = std::move(text)}};
}

std::vector<HostedFile> KubernetesFiles(const Run& run, const HostedRequest& request) {
  std::vector<HostedFile> files;
  std::string calls;
  std::size_t number = 0;
  for (const std::vector<const Job*>& jobs : Levels(run.graph)) {
    ++number;
    std::map<Resources, std::vector<const Job*>> alike;
    for (const Job* job : jobs) alike[job->resources].push_back(job);
    std::vector<std::string> names;
    for (const auto& [resources, group] : alike) {
      const std::string name = fmt::format("ptpkg-{}-{}-{}", run.settings.key, number, names.size() + 1);
      std::string index;
      for (std::size_t i = 0; i < group.size(); ++i) index += fmt::format("{} {}\n", i, group[i]->id);
      const std::string gpu = resources.gpus == 0 ? "" : fmt::format(", nvidia.com/gpu: {}", resources.gpus);
      const std::uint64_t limit = LimitMinutes(resources);
      const std::string deadline = limit == 0 ? "" : fmt::format("activeDeadlineSeconds: {}\n", limit * 60);
      files.push_back({.name = fmt::format("kubernetes/{}.index", name), .text = index});
      files.push_back(
          {.name = fmt::format("kubernetes/{}.yaml", name),
           .text =
               ci::Fill(Template("kubernetes"),
                        {{"name", name},
                         {"least", kLeastKubernetes},
                         {"run_key", ci::Quoted(run.settings.key)},
                         {"completions", std::to_string(group.size())},
                         {"deadline", deadline},
                         {"image", ci::Quoted(request.image)},
                         {"run", ci::Quoted(run.folder.str())},
                         {"index", ci::Quoted(fmt::format("{}/kubernetes/{}.index", run.folder.str(), name))},
                         {"program", ci::Quoted(request.program)},
                         {"cpu", std::to_string(resources.cores)},
                         {"memory", Mebibytes(resources.memory_bytes)},
                         {"gpu", gpu},
                         {"mount", ci::Quoted(request.mount.str())},
                         {"claim", ci::Quoted(request.claim)}})});
      names.push_back(name);
    }
    calls += fmt::format("level {}\n", Join(names, " "));
  }
  files.push_back(
      {.name = "kubernetes/run.sh",
       .text = ci::Fill(Template("kubernetes_run"), {{"levels", calls}, {"least", kLeastKubernetes}})});
  return files;
}

}  // namespace ptpkg::matrix
