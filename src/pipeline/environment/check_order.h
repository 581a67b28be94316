#pragma once
// Shows where compilers take headers and libraries from. Layer: pipeline.

#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::pipeline {

struct OrderRequest {
  std::vector<std::string> headers = {};    ///< As in #include, besides the built-in list; must exist.
  std::vector<std::string> libraries = {};  ///< As in -l, the same way.
};

/// A file that a compiler needs: itself, a header or a library.
struct TakenFile {
  std::string kind;         ///< "compiler", "header" or "library".
  std::string name;         ///< "g++", as in #include, as in -l.
  std::string path = {};    ///< "": not found.
  std::string wanted = {};  ///< The environment's own file where the compiler takes another; "": right.

  [[nodiscard]] bool IsWrong() const { return path.empty() || !wanted.empty(); }
};

struct CompilerOrder {
  std::string compiler;                       ///< "c++", "nvcc" or "hipcc".
  std::vector<std::string> directories = {};  ///< Include directories in order.
  std::vector<TakenFile> files = {};
};

/// Compiles probes like the caller's build would, with $CXX or g++, $CUDACXX or nvcc, and $HIPCXX or hipcc,
/// as far as they exist. They get CPPFLAGS, CXXFLAGS, CUDAFLAGS, HIPFLAGS and LDFLAGS (not nvcc). Wanted is a
/// file of the environment: below PREFIX, BUILD_PREFIX, CONDA_PREFIX, VIRTUAL_ENV, CUDA_HOME (not hipcc) or
/// ROCM_PATH (hipcc only), the first that has it. Leaves out built-in names that do not exist. Errors:
/// kNotFound (no compiler, or none where a variable names one), kIo, kCancelled. kCommandFailed: a compiler
/// that cannot preprocess an empty file.
Result<std::vector<CompilerOrder>> CheckOrder(Env& env, const OrderRequest& request);

}  // namespace ptpkg::pipeline
