// Recipes name conda packages, and the machine has programs, headers and Python distributions. No rule
// derives one from the other (`ninja` is `ninja-build` in Debian), so this is a table. Libraries are found by
// a header, whose name is the same in every distribution.
//
// The last header of a row should contain the version, because ToolKey digests it: two versions of a library
// then differ in their keys. A requirement without a row is still looked for, as a Python distribution and,
// for the build, as a program.

#include "builder/tools/tool_table.h"

#include <algorithm>
#include <array>
#include <string>

namespace ptpkg::builder {

namespace {

using enum ProviderKind;

constexpr auto kTable = std::to_array<Provider>({
    // Compilers, under the names that compiler() and conda-forge give them.
    {kProgram, "gcc", "gcc", "gcc", "CC"},
    {kProgram, "gxx", "g++", "g++", "CXX"},
    {kProgram, "gfortran", "gfortran", "gfortran", "FC"},
    {kProgram, "clang", "clang", "clang", "CC"},
    {kProgram, "clangxx", "clang++", "clang", "CXX"},
    {kProgram, "c-compiler", "gcc cc", "gcc", "CC"},
    {kProgram, "cxx-compiler", "g++ c++", "g++", "CXX"},
    {kProgram, "fortran-compiler", "gfortran", "gfortran", "FC"},
    {kProgram, "cuda", "nvcc", "", "CUDACXX"},  // compiler('cuda') without 'cuda_compiler'
    {kProgram, "cuda-nvcc", "nvcc", "", "CUDACXX"},
    {kProgram, "cuda-compiler", "nvcc", "", "CUDACXX"},
    {kProgram, "cuda-version", "nvcc", "", ""},
    {kProgram, "hip", "hipcc", "hipcc", ""},
    {kProgram, "hipcc", "hipcc", "hipcc", ""},
    {kProgram, "binutils", "ld", "binutils", ""},
    {kAlways, "sysroot", "", "", ""},
    {kAlways, "libgcc", "", "", ""},
    {kAlways, "libgcc-ng", "", "", ""},
    {kAlways, "libstdcxx", "", "", ""},
    {kAlways, "libstdcxx-ng", "", "", ""},
    // Build tools.
    {kProgram, "cmake", "cmake", "cmake", ""},
    {kProgram, "ninja", "ninja", "ninja-build", ""},
    {kProgram, "make", "make", "make", ""},
    {kProgram, "autoconf", "autoconf", "autoconf", ""},
    {kProgram, "automake", "automake", "automake", ""},
    {kProgram, "libtool", "libtoolize", "libtool", ""},
    {kProgram, "pkg-config", "pkg-config", "pkg-config", ""},
    {kProgram, "pkgconf", "pkgconf pkg-config", "pkgconf", ""},
    {kProgram, "meson", "meson", "meson", ""},
    {kProgram, "bison", "bison", "bison", ""},
    {kProgram, "flex", "flex", "flex", ""},
    {kProgram, "swig", "swig", "swig", ""},
    {kProgram, "nasm", "nasm", "nasm", ""},
    {kProgram, "rust", "rustc", "rustc", ""},
    {kProgram, "go", "go", "golang-go", ""},
    {kProgram, "doxygen", "doxygen", "doxygen", ""},
    {kProgram, "patch", "patch", "patch", ""},
    {kProgram, "git", "git", "git", ""},
    {kProgram, "perl", "perl", "perl", ""},
    {kProgram, "m4", "m4", "m4", ""},
    {kProgram, "ccache", "ccache", "ccache", ""},
    {kProgram, "ffmpeg", "ffmpeg", "ffmpeg", ""},
    {kProgram, "patchelf", "patchelf", "patchelf", ""},
    {kProgram, "flatbuffers", "flatc", "flatbuffers-compiler", ""},
    // Python.
    {kPython, "python", "", "python3", ""},
    // Any other name is looked for too; of these alone it is certain that pip has them under that name.
    {kPythonPackage, "pip", "pip", "", ""},
    {kPythonPackage, "setuptools", "setuptools", "", ""},
    {kPythonPackage, "wheel", "wheel", "", ""},
    {kPythonPackage, "packaging", "packaging", "", ""},
    {kPythonPackage, "setuptools-scm", "setuptools-scm", "", ""},
    {kPythonPackage, "setuptools-rust", "setuptools-rust", "", ""},
    {kPythonPackage, "hatchling", "hatchling", "", ""},
    {kPythonPackage, "hatch-vcs", "hatch-vcs", "", ""},
    {kPythonPackage, "flit-core", "flit-core", "", ""},
    {kPythonPackage, "poetry-core", "poetry-core", "", ""},
    {kPythonPackage, "pdm-backend", "pdm-backend", "", ""},
    {kPythonPackage, "maturin", "maturin", "", ""},
    {kPythonPackage, "meson-python", "meson-python", "", ""},
    {kPythonPackage, "scikit-build", "scikit-build", "", ""},
    {kPythonPackage, "scikit-build-core", "scikit-build-core", "", ""},
    {kPythonPackage, "cython", "cython", "", ""},
    {kPythonPackage, "numpy", "numpy", "", ""},
    {kPythonPackage, "cffi", "cffi", "", ""},
    {kPythonPackage, "pyyaml", "pyyaml", "", ""},
    {kPythonPackage, "typing-extensions", "typing-extensions", "", ""},
    {kPythonPackage, "filelock", "filelock", "", ""},
    {kPythonPackage, "fsspec", "fsspec", "", ""},
    {kPythonPackage, "jinja2", "jinja2", "", ""},
    {kPythonPackage, "networkx", "networkx", "", ""},
    {kPythonPackage, "sympy", "sympy", "", ""},
    {kPythonPackage, "pillow", "pillow", "", ""},
    {kPythonPackage, "requests", "requests", "", ""},
    {kPythonPackage, "tqdm", "tqdm", "", ""},
    {kPythonPackage, "python-build", "build", "", ""},
    {kPythonPackage, "python-installer", "installer", "", ""},
    // Libraries, by a header: that works on any distribution.
    {kHeader, "openblas", "openblas_config.h", "libopenblas-dev", ""},
    {kHeader, "libopenblas", "openblas_config.h", "libopenblas-dev", ""},
    {kHeader, "openmp", "omp.h", "libgomp1", ""},
    {kHeader, "eigen", "eigen3/Eigen/Core", "libeigen3-dev", ""},
    {kHeader, "fmt", "fmt/format.h", "libfmt-dev", ""},
    {kHeader, "sleef", "sleef.h", "libsleef-dev", ""},
    {kHeader, "cpuinfo", "cpuinfo.h", "libcpuinfo-dev", ""},
    {kHeader, "pybind11", "pybind11/pybind11.h", "pybind11-dev", ""},
    {kHeader, "libprotobuf", "google/protobuf/message.h", "libprotobuf-dev", ""},
    {kHeader, "libflatbuffers", "flatbuffers/flatbuffers.h", "libflatbuffers-dev", ""},
    {kHeader, "onnx", "onnx/onnx_pb.h", "libonnx-dev", ""},
    {kHeader, "fp16", "fp16.h", "libfp16-dev", ""},
    {kHeader, "fxdiv", "fxdiv.h", "libfxdiv-dev", ""},
    {kHeader, "psimd", "psimd.h", "libpsimd-dev", ""},
    {kHeader, "pthreadpool", "pthreadpool.h", "libpthreadpool-dev", ""},
    {kHeader, "nlohmann_json", "nlohmann/json.hpp", "nlohmann-json3-dev", ""},
    {kHeader, "cpp-httplib", "httplib.h", "libcpp-httplib-dev", ""},
    // Parts of the CUDA toolkit, under the names that conda-forge gives them. The last header of each has the
    // version, where one has: ToolKey tells two versions apart by the content.
    {kToolkit, "cuda-cudart-dev", "cuda_runtime.h cuda_runtime_api.h", "", ""},
    {kToolkit, "cuda-nvrtc-dev", "nvrtc.h", "", ""},
    {kToolkit, "cuda-cupti-dev", "cupti.h cupti_version.h", "", ""},
    {kToolkit, "cuda-nvml-dev", "nvml.h", "", ""},
    {kToolkit, "cuda-profiler-api", "cuda_profiler_api.h", "", ""},
    {kToolkit, "cuda-nvtx-dev", "nvtx3/nvToolsExt.h", "", ""},
    {kToolkit, "libcublas-dev", "cublas_v2.h cublas_api.h", "", ""},
    {kToolkit, "libcufft-dev", "cufft.h", "", ""},
    {kToolkit, "libcurand-dev", "curand.h", "", ""},
    {kToolkit, "libcusolver-dev", "cusolverDn.h cusolver_common.h", "", ""},
    {kToolkit, "libcusparse-dev", "cusparse.h", "", ""},
    {kToolkit, "libnvjpeg-dev", "nvjpeg.h", "", ""},
    // Beside the toolkit, with packages of their own.
    {kHeader, "cudnn", "cudnn.h cudnn_version.h", "", ""},
    {kHeader, "nccl", "nccl.h", "libnccl-dev", ""},
    {kHeader, "zlib", "zlib.h", "zlib1g-dev", ""},
    {kHeader, "libuv", "uv.h", "libuv1-dev", ""},
    {kHeader, "libpng", "png.h", "libpng-dev", ""},
    {kHeader, "libjpeg-turbo", "jpeglib.h", "libjpeg-dev", ""},
    {kHeader, "libwebp-base", "webp/decode.h", "libwebp-dev", ""},
    {kHeader, "sox", "sox.h", "libsox-dev", ""},
});

}  // namespace

std::string_view StripPlatformSuffix(std::string_view requirement) {
  for (const std::string_view platform : {"_linux-64", "_linux-aarch64"}) {
    if (requirement.ends_with(platform)) requirement.remove_suffix(platform.size());
  }
  return requirement;
}

std::optional<Provider> FindProvider(std::string_view requirement) {
  if (requirement.starts_with("__")) return Provider{};
  const std::string_view name = StripPlatformSuffix(requirement);
  // conda-forge and the Python index spell one name differently: "setuptools_scm" and "setuptools-scm".
  std::string dashes(name);
  std::replace(dashes.begin(), dashes.end(), '_', '-');
  const auto* row = std::find_if(kTable.begin(), kTable.end(), [&](const Provider& candidate) {
    return candidate.requirement == name ||
           (candidate.kind == ProviderKind::kPythonPackage && candidate.requirement == dashes);
  });
  if (row == kTable.end()) return std::nullopt;
  return *row;
}

}  // namespace ptpkg::builder
