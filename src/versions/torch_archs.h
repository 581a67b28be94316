#pragma once
// Writes lists of GPU architectures the way PyTorch reads them. Layer: versions.

#include <string>
#include <string_view>

#include "support/result.h"

namespace ptpkg::versions {

/// The list for TORCH_CUDA_ARCH_LIST, such as "8.0;9.0+PTX", sorted. `text` is a list for
/// ParseDeviceArchitectures; it can contain nvcc's options "-gencode
/// arch=compute_90,code=[sm_90,compute_90]". Names of AMD's GPUs stay. Errors: kInvalidInput for unknown
/// words, and for PTX without machine code and machine code made from another architecture, which PyTorch's
/// list cannot express.
Result<std::string> TorchArchitectures(std::string_view text);

}  // namespace ptpkg::versions
