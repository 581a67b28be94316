#pragma once
// Libraries whose licence forbids to change them: NVIDIA's own. Layer: pipeline. Source: CUDA EULA 1.2
// ("may not reverse engineer, decompile or disassemble, or modify"), and the licences of cuDNN and NVSHMEM.

#include <string_view>

namespace ptpkg::pipeline {

/// Whether a file of that name is one of the libraries that NVIDIA ships: "libcublas.so.13",
/// "libcudart-d0da41ae.so.11.0".
bool IsVendorLibrary(std::string_view file_name);

/// Whether a file with this path in an artifact may be its licence: "x.dist-info/License.txt",
/// "licenses/EULA".
bool IsLicenceName(std::string_view path);

/// Whether a licence text is an agreement of NVIDIA's: its first 4 KiB decide, so that a project's licence
/// that quotes one of them far below is not taken for it.
bool IsVendorLicence(std::string_view text);

}  // namespace ptpkg::pipeline
