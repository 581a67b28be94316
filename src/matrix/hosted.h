#pragma once
// Files for engines that ptpkg does not call: GitHub Actions, GitLab and Kubernetes. Layer: matrix.
// Source: GitHub's workflow syntax, GitLab's CI/CD YAML reference, Kubernetes' batch/v1 API; field names of
// PyTorch's generate_binary_build_matrix.py.

#include <string>
#include <vector>

#include "matrix/run_folder.h"

namespace ptpkg::matrix {

struct HostedRequest {
  std::vector<std::string> arguments = {};  ///< Words of `ptpkg matrix`, so that a job can plan again.
  std::string image = {};                   ///< Image of the jobs; "": the service's variable PTPKG_IMAGE.
  std::vector<std::string> labels = {};     ///< Labels of the runners; empty: the service's usual one.
  std::string run = "run";                  ///< GitLab: directory of the run, from the repository,
  std::string cache = "cache";              ///< the cache,
  std::string output = "dist";              ///< and the output directory.
  std::string claim = {};                   ///< Kubernetes: claim of the volume that the machines share,
  AbsPath mount = AbsPath::Literal("/");    ///< and its place.
  std::string program = {};                 ///< Kubernetes: path of ptpkg, in the image or on the volume.
};

struct HostedFile {
  std::string name;  ///< Below the directory of the run: "github/level-1.json".
  std::string text;
};

/// One entry of a matrix: the job's id and title, and DESIRED_PYTHON, DESIRED_CUDA, GPU_ARCH_TYPE,
/// GPU_ARCH_VERSION and PACKAGE_TYPE as PyTorch's workflows name them.
Json IncludeEntry(const Job& job);

/// github/level-N.json: {"include": […]} for each level, in chunks of 256, and github/matrix.yml, a reusable
/// workflow. Errors: kUnsupported for a workflow, or lists of jobs, larger than GitHub takes, and for a
/// job that asks for GPUs without `labels`.
Result<std::vector<HostedFile>> GithubFiles(const Run& run, const HostedRequest& request);

/// gitlab/child.yml, a child pipeline with a stage for each level. Errors: kUnsupported for one larger than
/// GitLab takes, and for a job that asks for GPUs without `labels`.
Result<std::vector<HostedFile>> GitlabFiles(const Run& run, const HostedRequest& request);

/// The oldest Kubernetes with all fields of these Jobs: backoffLimitPerIndex is on by default from 1.29
/// (stable in 1.33), podFailurePolicy from 1.26 (stable in 1.31). Older servers drop the first one, and then
/// refuse its FailIndex.
inline constexpr const char* kLeastKubernetes = "1.29";

/// kubernetes/NAME.yaml, an indexed Job for the jobs of a level with equal resources. NAME.index maps its
/// indexes to jobs, and run.sh applies level after level.
std::vector<HostedFile> KubernetesFiles(const Run& run, const HostedRequest& request);

}  // namespace ptpkg::matrix
