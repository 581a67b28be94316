#pragma once
// Collects recipe and tool facts for the preflight rules. Layer: builder.

#include <optional>

#include "builder/preflight/host_facts.h"
#include "builder/tools/tools.h"

namespace ptpkg::builder {

struct RecipeFactsInput {
  const recipe::Recipe& recipe;
  const HostPlan& host;                ///< Origin of its tools; a conda client lists none.
  std::string subject = {};            ///< Name of the build; "": the recipe's.
  std::string script = {};             ///< Its text.
  std::uint64_t memory_per_job = 0;    ///< extra.ptpkg.memory_per_job in bytes; 0: by the compilers (jobs.h).
  std::optional<AbsPath> source = {};  ///< --source, or the directory of `path`.
};

/// Adds:
/// - subject: "libtorch-2.6.0"; package, version
/// - build_requirements: names; host_magma: the versions that the host requirement magma names
/// - script; script_variables: names of build.script.env
/// - version_made: the version that PyTorch's build sets for itself, if the variables determine it
///   (torch_version.h)
/// - version_made_differs: it is not the recipe's; build_number_invalid: its build number is invalid
/// - cmake, ninja, gxx, clangxx, nvcc, ccache, python, setuptools, numpy: versions of the build's tools, if
///   it requires them (numpy and setuptools: if its Python or the Python index provides them)
/// - nvcc_gxx: the version of the compiler that nvcc calls, the one next to nvcc or on PATH
/// - nvcc_gxx_missing: the compiler next to nvcc, a script of Debian's package, finds none
/// - foreign_cuda_parts: ForeignCudaParts of nvcc's toolkit; foreign_cudnn: ForeignCudnn of a required cudnn
/// - cudnn_without_link: the versioned libcudnn of nvcc's toolkit or /usr/lib that has no libcudnn.so
/// - architectures: numbers of the requested GPU architectures, from extra.ptpkg.device_code, else
///   TORCH_CUDA_ARCH_LIST, CMAKE_CUDA_ARCHITECTURES or CUDAARCHS of build.script.env
/// - unserved_gpus: the `gpus` that cannot run code for these architectures
/// - memory_per_job_gib, needed_disk_gib
/// - empty_submodules: empty directories that the source's .gitmodules names
///
/// Errors: kCancelled.
Result<void> AddRecipeFacts(Env& env, const RecipeFactsInput& input, Facts& facts);

/// Adds these names without values, for a check of the machine without a recipe.
void AddEmptyRecipeFacts(Facts& facts);

}  // namespace ptpkg::builder
