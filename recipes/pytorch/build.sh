# Run by bash -e in the source folder. TARGET: c10, or c10_cuda, which is both libraries.
case "$TARGET" in
  c10) cmake_targets=(c10) install_from=c10 cuda=OFF ;;
  c10_cuda) cmake_targets=(c10 c10_cuda) install_from=c10 cuda=ON ;;
  *) echo "unknown target '$TARGET'" >&2; exit 1 ;;
esac

# Debian's 1.13.1 says 1.13.0a0: the first two numbers count.
version=${VERSION:-$PKG_VERSION} found=$(cat version.txt)
if [ "$(cut -d. -f-2 <<< "$found")" != "$(cut -d. -f-2 <<< "$version")" ]; then
  echo "the sources are PyTorch $found, and the variant is $version: name that release with --source pytorch=PATH" >&2
  exit 1
fi

# CMake asks for googletest even where no test is built; a release archive brings its own.
if [ ! -e third_party/googletest/CMakeLists.txt ]; then
  rm -rf third_party/googletest
  ln -s /usr/src/googletest third_party/googletest
fi
# 1.13 takes fmt and foxi from its own tree, and Debian's archive lacks both: the machine's fmt serves, and no target needs foxi.
if [[ $version == 1.* && ! -e third_party/fmt/CMakeLists.txt ]]; then
  mkdir -p third_party/fmt third_party/foxi
  touch third_party/foxi/CMakeLists.txt
  cat > third_party/fmt/CMakeLists.txt << 'END'
add_library(fmt-header-only INTERFACE)
target_compile_definitions(fmt-header-only INTERFACE FMT_HEADER_ONLY=1)
add_library(fmt::fmt-header-only ALIAS fmt-header-only)
END
fi
# The serialised form of mobile models, made for the flatbuffers of this machine.
(cd torch/csrc/jit/serialization && flatc --cpp --gen-mutable --scoped-enums mobile_bytecode.fbs)

options=(
  -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_INSTALL_PREFIX="$PREFIX"
  -DCMAKE_INSTALL_LIBDIR=lib
  -DPython_EXECUTABLE="$PYTHON"
  -DBUILD_PYTHON=OFF
  -DBUILD_TEST=OFF
  -DUSE_SYSTEM_LIBS=ON
  -DUSE_SYSTEM_EIGEN_INSTALL=ON
  -DBUILD_CUSTOM_PROTOBUF=OFF
  -DBLAS=OpenBLAS
  -DONNX_NAMESPACE=onnx
)
for feature in ROCM XPU DISTRIBUTED MKLDNN FBGEMM KINETO XNNPACK NNPACK QNNPACK PYTORCH_QNNPACK ITT MPI NUMA GLOG GFLAGS CUDNN \
               CUSPARSELT CUDSS CUFILE NCCL MAGMA FLASH_ATTENTION MEM_EFF_ATTENTION; do
  options+=("-DUSE_$feature=OFF")
done
options+=("-DUSE_CUDA=$cuda")
# 1.13 looks for the system's XNNPACK whether it is used or not; what is built here does not link to it.
[[ $version != 1.* ]] || options+=(-DXNNPACK_LIBRARY=not-linked)
if [ "$cuda" = ON ]; then
  toolkit=${CUDA_HOME:-$(dirname "$(dirname "$(readlink -f "$CUDACXX")")")}
  export TORCH_CUDA_ARCH_LIST=$CUDA_ARCHS
  # CUDA 13 keeps CUB where FindCUB does not look.
  options+=("-DCUB_INCLUDE_DIR=$toolkit/include/cccl" -DUSE_SYSTEM_NVTX=ON
            "-DCMAKE_PROJECT_Torch_INCLUDE=$RECIPE_DIR/unused_cuda_libraries.cmake")
fi

cmake -G Ninja -S . -B build "${options[@]}"
cmake --build build --target "${cmake_targets[@]}" --parallel "$CPU_COUNT"
cmake --install "build/$install_from"
