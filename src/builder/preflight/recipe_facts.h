#pragma once
// Collects recipe and tool facts for the preflight rules. Layer: builder.

#include <optional>

#include "builder/preflight/host_facts.h"
#include "builder/tools/tools.h"

namespace ptpkg::builder {

struct RecipeFactsInput {
  const recipe::Recipe& recipe;
  const HostPlan& host;                ///< Origin of its tools; a conda client names none.
  std::string subject = {};            ///< Name of the build; "": the recipe's.
  std::string script = {};             ///< Its text.
  std::uint64_t memory_per_job = 0;    ///< extra.ptpkg.memory_per_job in bytes; 0: by the compilers (jobs.h).
  std::optional<AbsPath> source = {};  ///< --source, or the directory of `path`.
};

/// Adds:
/// - subject: "libtorch-2.6.0"; package, version
/// - build_requirements: names; host_magma: the versions that the host requirement magma names
/// - script; script_variables: names of build.script.env
/// - version_made: of PyTorch, the version that its build gives to itself, as far as the variables say it
///   (torch_version.h); version_made_differs: it is not the recipe's; build_number_invalid: its number is
///   none
/// - cmake, ninja, gxx, clangxx, nvcc, ccache, python, setuptools, numpy: versions of what the build gets, as
///   far as it requires them (numpy and setuptools: as far as its Python or the Python index brings them)
/// - nvcc_gxx: the version of the compiler that nvcc calls, the one beside it or that of PATH;
///   nvcc_gxx_missing: the one beside it, a script of Debian's package, finds none
/// - foreign_cuda_parts: ForeignCudaParts of nvcc's toolkit; foreign_cudnn: ForeignCudnn of a required cudnn
/// - cudnn_without_link: the versioned libcudnn of nvcc's toolkit or /usr/lib that has no libcudnn.so
/// - architectures: numbers of the GPU architectures asked for, from extra.ptpkg.device_code, else
///   TORCH_CUDA_ARCH_LIST, CMAKE_CUDA_ARCHITECTURES or CUDAARCHS of build.script.env
/// - unserved_gpus: those of `gpus` that code for these architectures does not run on
/// - memory_per_job_gib, needed_disk_gib
/// - empty_submodules: directories that the source's .gitmodules names and that hold nothing
///
/// Errors: kCancelled.
Result<void> AddRecipeFacts(Env& env, const RecipeFactsInput& input, Facts& facts);

/// Adds these names without values, for a machine that is examined without a recipe.
void AddEmptyRecipeFacts(Facts& facts);

}  // namespace ptpkg::builder
