#pragma once
// Recognises NVIDIA libraries that must not be changed. Layer: pipeline. Source: CUDA EULA 1.2 ("may not
// reverse engineer, decompile or disassemble, or modify"), and the licences of cuDNN and NVSHMEM.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ptpkg::pipeline {

/// True if a file of that name is one of NVIDIA's redistributed libraries: "libcublas.so.13",
/// "libcudart-d0da41ae.so.11.0".
bool IsVendorLibrary(std::string_view file_name);

/// True if a file with this path below .dist-info, or below info/, can be the artifact's own licence:
/// "License.txt", "licenses/EULA". Deeper files are licences of a part: torch has the one of CUTLASS's Python
/// package in licenses/third_party/cutlass/. So is "LICENSE-3rd-party.txt".
bool IsOwnLicence(std::string_view path);

/// True if a licence text is an NVIDIA agreement: its first 4 KiB decide, so that a project's licence
/// that quotes one of them far below does not count.
bool IsVendorLicence(std::string_view text);

/// True if a licence field names nothing but an NVIDIA agreement: "LicenseRef-NVIDIA-Proprietary".
bool IsVendorLicenceName(std::string_view name);

/// Path of the first of the artifact's own licences (path, text), if all are NVIDIA's; else "": what a
/// project says of itself counts, not what it adds about libraries that it carries.
std::string VendorLicenceOf(const std::vector<std::pair<std::string, std::string>>& licences);

}  // namespace ptpkg::pipeline
