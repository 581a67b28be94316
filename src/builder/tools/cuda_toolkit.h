#pragma once
// Finds CUDA toolkits and their parts on this machine. Layer: builder.

#include <optional>
#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::builder {

/// Directories of one toolkit, in NVIDIA's layout or in that of Debian's package nvidia-cuda-toolkit.
struct CudaToolkit {
  AbsPath root = AbsPath::Literal("/");  ///< The directory above nvcc's "bin"; "/usr" for Debian's package.
  /// nvcc.profile lies beside nvcc, so headers and libraries are below `root`. Debian's package and wrappers
  /// of nvcc have none.
  bool has_profile = false;
  std::vector<AbsPath> includes = {};   ///< Directories for its headers; not all of them exist.
  std::vector<AbsPath> libraries = {};  ///< The same for its libraries.
  /// The gcc beside nvcc, which nvcc calls instead of the one on PATH.
  std::optional<AbsPath> host_compiler = {};
};

/// The toolkit that `nvcc` belongs to; symlinks are followed. Errors: kNotFound (gone meanwhile), kIo.
Result<CudaToolkit> ReadCudaToolkit(Env& env, const AbsPath& nvcc);

/// Every nvcc of this machine, in the order of preference: of the toolkits in `named` (--cuda-home) or, where
/// that is empty, of PTPKG_CUDA_HOME, both separated by colons; of PATH; of CUDA_HOME, CUDA_PATH and
/// /usr/local/cuda; of /usr/local/cuda-X.Y, the newest first. Errors: kNotFound (a named directory holds no
/// bin/nvcc), kIo.
Result<std::vector<AbsPath>> FindNvccs(Env& env, const std::string& named);

/// Parts of the toolkit of `nvcc` that are of another CUDA than `version` ("12.4.131"), each as a clause:
/// "'/usr/include/cuda.h' is of CUDA 11.8". Looks at the headers and libraries of the runtime and of cuBLAS;
/// parts that do not exist count for nothing.
std::vector<std::string> ForeignCudaParts(Env& env, const CudaToolkit& toolkit, const std::string& version);

/// Compares the cuDNN that `header` belongs to with the major version of CUDA, and gives the same clause if
/// they differ: cuDNN's libraries name the cuBLAS that they load. nullopt if they agree, or no library tells.
std::optional<std::string> ForeignCudnn(Env& env, const CudaToolkit& toolkit, const AbsPath& header,
                                        const std::string& version);

}  // namespace ptpkg::builder
