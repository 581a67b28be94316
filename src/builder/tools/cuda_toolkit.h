#pragma once
// Finds CUDA toolkits and their parts on this machine. Layer: builder.

#include <optional>
#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::builder {

/// Directories of one toolkit, in NVIDIA's layout or in the layout of Debian's package nvidia-cuda-toolkit.
struct CudaToolkit {
  AbsPath root = AbsPath::Literal("/");  ///< The directory above nvcc's "bin"; "/usr" for Debian's package.
  /// True if nvcc.profile is next to nvcc, so headers and libraries are below `root`. Debian's package and
  /// wrappers of nvcc have none.
  bool has_profile = false;
  std::vector<AbsPath> includes = {};   ///< Directories for its headers; not all of them exist.
  std::vector<AbsPath> libraries = {};  ///< The same for its libraries.
  /// The gcc next to nvcc, which nvcc calls instead of the one on PATH.
  std::optional<AbsPath> host_compiler = {};
};

/// The toolkit that `nvcc` belongs to; symlinks are followed. Errors: kNotFound (gone meanwhile), kIo.
Result<CudaToolkit> ReadCudaToolkit(Env& env, const AbsPath& nvcc);

/// Every nvcc of this machine, in this order of preference:
/// - the toolkits in `named` (--cuda-home) or, if that is empty, of PTPKG_CUDA_HOME, both separated by colons
/// - PATH
/// - CUDA_HOME, CUDA_PATH and /usr/local/cuda
/// - /usr/local/cuda-X.Y, the newest first
///
/// Errors: kNotFound (a named directory holds no bin/nvcc), kIo.
Result<std::vector<AbsPath>> FindNvccs(Env& env, const std::string& named);

/// Parts of the toolkit of `nvcc` that belong to another CUDA than `version` ("12.4.131"), each as a clause:
/// "'/usr/include/cuda.h' is of CUDA 11.8". Checks the headers and libraries of the runtime and of cuBLAS,
/// and ignores missing parts.
std::vector<std::string> ForeignCudaParts(Env& env, const CudaToolkit& toolkit, const std::string& version);

/// Compares the cuDNN that `header` belongs to with the major version of CUDA: cuDNN's libraries name the
/// cuBLAS that they load. Returns the same clause if they differ. nullopt if they agree, or no library shows
/// its version.
std::optional<std::string> ForeignCudnn(Env& env, const CudaToolkit& toolkit, const AbsPath& header,
                                        const std::string& version);

}  // namespace ptpkg::builder
