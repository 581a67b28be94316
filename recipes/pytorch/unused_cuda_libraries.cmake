# CMake stops at a target that links to one that does not exist, also where it is not built. Neither c10 nor c10_cuda
# needs these; the toolkit of the Python index has no libcuda to link against, CUDA 13 no nvToolsExt, and the others are 1 GB.
foreach(library IN ITEMS cuda_driver nvToolsExt cublas cublasLt cufft curand cusparse cusolver nvrtc cupti)
  add_library(CUDA::${library} INTERFACE IMPORTED GLOBAL)
endforeach()
