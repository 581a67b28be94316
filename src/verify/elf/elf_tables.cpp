// Tables of well-known libraries and packages. A missing library is an error only if no dependency can have
// it, so the table must know what each dependency brings. A package outside the table might bring anything
// ("possible"), and makes the error a warning.

#include "verify/elf/elf_tables.h"

#include <algorithm>
#include <array>

#include "support/text/globs.h"
#include "support/text/text.h"
#include "verify/system_libraries_text.h"  // generated from data/system_libraries.txt

namespace ptpkg::verify {
namespace {

/// The lines of `text` that are no comments; they point into it.
std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.empty() && line.front() != '#') lines.push_back(line);
  }
  return lines;
}

constexpr std::array<std::string_view, 9> kDriver = {"libcuda.so.1",
                                                     "libnvoptix.so.1",
                                                     "libnvidia-ml.so.1",
                                                     "libnvcuvid.so.1",
                                                     "libnvidia-encode.so.1",
                                                     "libcudadebugger.so.1",
                                                     "libnvidia-ptxjitcompiler.so.1",
                                                     "libnvidia-opticalflow.so.1",
                                                     "libhsakmt.so.1"};

constexpr std::array<std::string_view, 5> kOpenMp = {"libgomp.so*", "libgomp-*.so*", "libiomp5.so*",
                                                     "libomp.so*", "libomp-*.so*"};

// Conda names and Python names of the libraries around PyTorch. Numbers at the end are the CUDA major.
constexpr std::array<Provider, 75> kProviders = {{
    {"torch", "libtorch*.so* libc10*.so* libshm.so libcaffe2*.so"},
    // Libraries that torch 2.15.0 installs. The newest torch counts: a wheel that requires "torch>=2.10" and
    // needs libcudart.so.12 breaks with it. A CPU build brings none of these, and nothing built against that
    // one needs them.
    {"torch",
     "libcudart.so.13 libcublas.so.13 libcublasLt.so.13 libcufft.so.12 libcufile.so.0 libcupti.so.13 "
     "libcusolver.so.12 libcusparse.so.12 libnvJitLink.so.13 libnvrtc.so.13 libnvtx3interop.so.* "
     "libcudnn*.so.9 libcusparseLt.so.0 libnccl.so.2 libnvshmem_host.so.3"},
    {"pytorch", "libtorch*.so* libc10*.so* libshm.so libcaffe2*.so"},
    {"libtorch", "libtorch*.so* libc10*.so* libshm.so libcaffe2*.so"},
    {"nvidia-cublas", "libcublas.so.* libcublasLt.so.* libnvblas.so.*"},
    {"nvidia-cublas-cu12", "libcublas.so.12 libcublasLt.so.12 libnvblas.so.12"},
    {"libcublas", "libcublas.so.* libcublasLt.so.* libnvblas.so.*"},
    {"nvidia-cuda-cupti", "libcupti.so.* libnvperf_*.so libcheckpoint.so"},
    {"nvidia-cuda-cupti-cu12", "libcupti.so.12 libnvperf_*.so libcheckpoint.so"},
    {"cuda-cupti", "libcupti.so.* libnvperf_*.so libcheckpoint.so"},
    {"nvidia-cuda-nvrtc", "libnvrtc.so.* libnvrtc-builtins.so.*"},
    {"nvidia-cuda-nvrtc-cu12", "libnvrtc.so.12 libnvrtc-builtins.so.*"},
    {"cuda-nvrtc", "libnvrtc.so.* libnvrtc-builtins.so.*"},
    {"nvidia-cuda-runtime", "libcudart.so.*"},
    {"nvidia-cuda-runtime-cu12", "libcudart.so.12"},
    {"cuda-cudart", "libcudart.so.*"},
    {"nvidia-cudnn-cu12", "libcudnn*.so.9"},
    {"nvidia-cudnn-cu13", "libcudnn*.so.9"},
    {"cudnn", "libcudnn*.so.*"},
    {"libcudnn", "libcudnn*.so.*"},
    {"nvidia-cufft", "libcufft.so.* libcufftw.so.*"},
    {"nvidia-cufft-cu12", "libcufft.so.11 libcufftw.so.11"},
    {"libcufft", "libcufft.so.* libcufftw.so.*"},
    {"nvidia-cufile", "libcufile.so.* libcufile_rdma.so.*"},
    {"nvidia-cufile-cu12", "libcufile.so.0 libcufile_rdma.so.1"},
    {"libcufile", "libcufile.so.* libcufile_rdma.so.*"},
    {"nvidia-curand", "libcurand.so.*"},
    {"nvidia-curand-cu12", "libcurand.so.10"},
    {"libcurand", "libcurand.so.*"},
    {"nvidia-cusolver", "libcusolver.so.* libcusolverMg.so.*"},
    {"nvidia-cusolver-cu12", "libcusolver.so.11 libcusolverMg.so.11"},
    {"libcusolver", "libcusolver.so.* libcusolverMg.so.*"},
    {"nvidia-cusparse", "libcusparse.so.*"},
    {"nvidia-cusparse-cu12", "libcusparse.so.12"},
    {"libcusparse", "libcusparse.so.*"},
    {"nvidia-cusparselt-cu12", "libcusparseLt.so.0"},
    {"nvidia-cusparselt-cu13", "libcusparseLt.so.0"},
    {"cusparselt", "libcusparseLt.so.*"},
    {"nvidia-nccl-cu12", "libnccl.so.2"},
    {"nvidia-nccl-cu13", "libnccl.so.2"},
    {"nccl", "libnccl.so.2"},
    {"nvidia-nvshmem-cu12", "libnvshmem_host.so.3"},
    {"nvidia-nvshmem-cu13", "libnvshmem_host.so.3"},
    {"libnvshmem3", "libnvshmem_host.so.3"},
    {"nvidia-nvjitlink", "libnvJitLink.so.*"},
    {"nvidia-nvjitlink-cu12", "libnvJitLink.so.12"},
    {"libnvjitlink", "libnvJitLink.so.*"},
    {"nvidia-nvtx", "libnvToolsExt.so.* libnvtx3interop.so.*"},
    {"nvidia-nvtx-cu12", "libnvToolsExt.so.1 libnvtx3interop.so.*"},
    {"cuda-nvtx", "libnvToolsExt.so.* libnvtx3interop.so.*"},
    // The metapackage of the toolkit brings all of these since CUDA 13.
    {"cuda-toolkit",
     "libcudart.so.* libcublas*.so.* libcufft*.so.* libcufile*.so.* libcurand.so.* libcusolver*.so.* "
     "libcusparse.so.* libnvJitLink.so.* libnvrtc*.so.* libcupti.so.* libnvperf_*.so libnvtx3interop.so.*"},
    // A row without libraries: the package brings none. Without the row, it would be a possible provider.
    {"cuda-version", ""},
    {"cuda-bindings", ""},
    {"triton", ""},
    {"python", "libpython3*.so*"},
    {"python-abi", ""},
    {"numpy", ""},
    {"libgcc", "libgcc_s.so.1 libatomic.so.1 libquadmath.so.0"},
    {"libgcc-ng", "libgcc_s.so.1 libatomic.so.1 libquadmath.so.0"},
    {"libstdcxx", "libstdc++.so.6"},
    {"libstdcxx-ng", "libstdc++.so.6"},
    {"libgfortran", "libgfortran.so.* libquadmath.so.0"},
    {"libgfortran5", "libgfortran.so.5 libquadmath.so.0"},
    {"libgfortran-ng", "libgfortran.so.* libquadmath.so.0"},
    {"libgomp", "libgomp.so.1"},
    {"-openmp-mutex", "libgomp.so.1 libiomp5.so libomp.so"},
    {"llvm-openmp", "libomp.so libiomp5.so libgomp.so.1"},
    {"intel-openmp", "libiomp5.so"},
    {"mkl", "libmkl_*.so*"},
    {"libblas", "libblas.so.3"},
    {"libcblas", "libcblas.so.3"},
    {"liblapack", "liblapack.so.3"},
    {"openblas", "libopenblas*.so*"},
    {"libopenblas", "libopenblas*.so*"},
    {"libzlib", "libz.so.1"},
}};

/// Packages that installing a package brings along.
struct InstalledDependencies {
  std::string_view package;
  std::string_view brought;  ///< Separated by spaces; normalised.
};

// From the METADATA of NVIDIA's wheels for CUDA 12 and 13, and conda-forge's libtorch. torch has a row of its
// own above, because the version of CUDA counts.
constexpr std::array<InstalledDependencies, 11> kBringing = {{
    {"pytorch", "libtorch"},
    {"libtorch",
     "cuda-cudart cuda-cupti cuda-nvrtc cuda-nvtx cudnn cusparselt libcublas libcufft libcufile libcurand "
     "libcusolver libcusparse nccl libgcc libstdcxx -openmp-mutex libblas libcblas liblapack libzlib"},
    {"nvidia-cublas", "nvidia-cuda-nvrtc"},
    {"nvidia-cudnn-cu12", "nvidia-cublas-cu12"},
    {"nvidia-cudnn-cu13", "nvidia-cublas"},
    {"nvidia-cufft", "nvidia-nvjitlink"},
    {"nvidia-cufft-cu12", "nvidia-nvjitlink-cu12"},
    {"nvidia-cusolver", "nvidia-cublas nvidia-cusparse nvidia-nvjitlink"},
    {"nvidia-cusolver-cu12", "nvidia-cublas-cu12 nvidia-cusparse-cu12 nvidia-nvjitlink-cu12"},
    {"nvidia-cusparse", "nvidia-nvjitlink"},
    {"nvidia-cusparse-cu12", "nvidia-nvjitlink-cu12"},
}};

/// `packages` and all that is known to be installed with them.
std::vector<std::string> WithInstalledDependencies(const std::vector<std::string>& packages) {
  std::vector<std::string> all = packages;
  // The list grows while it is walked, so dependencies of dependencies are included.
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const InstalledDependencies& row : kBringing) {
      if (row.package != all[i]) continue;
      for (const std::string& package : Split(row.brought, ' ')) {
        if (std::find(all.begin(), all.end(), package) == all.end()) all.push_back(package);
      }
    }
  }
  return all;
}

bool IsListed(std::string_view package) {
  return std::any_of(kProviders.begin(), kProviders.end(),
                     [&](const Provider& provider) { return provider.package == package; });
}

}  // namespace

std::span<const std::string_view> VersionedLibraries() {
  static constexpr std::array<std::string_view, 17> kVersioned = {
      "libc.so.6",      "libm.so.6",      "libdl.so.2",   "libpthread.so.0",  "librt.so.1",
      "libutil.so.1",   "libresolv.so.2", "libmvec.so.1", "libanl.so.1",      "libgcc_s.so.1",
      "libstdc++.so.6", "libatomic.so.1", "libgomp.so.1", "libquadmath.so.0", "libgfortran.so.*",
      "ld-linux*.so.*", "libcrypt.so.1"};
  return kVersioned;
}

std::span<const std::string_view> SystemLibraries() {
  static const std::vector<std::string_view> kSystem = Lines(kSystemLibrariesText);
  return kSystem;
}
std::span<const std::string_view> DriverLibraries() { return kDriver; }
std::span<const std::string_view> OpenMpLibraries() { return kOpenMp; }
std::span<const Provider> Providers() { return kProviders; }

bool ProvidesSomeVersion(const std::vector<std::string>& packages, std::string_view library) {
  constexpr std::string_view kExtension = ".so";
  const std::vector<std::string> all = WithInstalledDependencies(packages);
  for (const Provider& provider : Providers()) {
    if (std::find(all.begin(), all.end(), provider.package) == all.end()) continue;
    for (const std::string& glob : Split(provider.libraries, ' ')) {
      // "libcudnn*.so.9" provides a version of "libcudnn_ops.so".
      if (GlobMatch(glob.substr(0, glob.find(kExtension) + kExtension.size()), library)) return true;
    }
  }
  return false;
}

Provided FindProvider(const std::vector<std::string>& packages, std::string_view library) {
  Provided provided;
  provided.possible = !std::all_of(packages.begin(), packages.end(), IsListed);
  const std::vector<std::string> all = WithInstalledDependencies(packages);
  for (const Provider& provider : Providers()) {
    if (std::find(all.begin(), all.end(), provider.package) == all.end()) continue;
    provided.known = provided.known || MatchesAnyGlob(Split(provider.libraries, ' '), library);
  }
  return provided;
}

}  // namespace ptpkg::verify
