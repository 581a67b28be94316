# PyTorch before 2.9 with CUDA 13, whose toolkit lacks two things that its CMake files ask for.
# libnvToolsExt is gone; the headers of nvtx3 need no library. Debian's patch 2300 takes the old one without asking.
add_library(CUDA::nvToolsExt INTERFACE IMPORTED GLOBAL)
set_property(TARGET CUDA::nvToolsExt PROPERTY INTERFACE_COMPILE_DEFINITIONS TORCH_CUDA_USE_NVTX3)
# CUB lies below include/cccl, where PyTorch's FindCUB does not look; its setup.py does not hand this variable on.
set(CUB_INCLUDE_DIR "$ENV{CUB_INCLUDE_DIR}" CACHE PATH "Headers of CUB")
