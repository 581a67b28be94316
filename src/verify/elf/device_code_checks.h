#pragma once
// Checks GPU code against the requested architectures. Layer: verify. The findings' pages are
// docs/findings/device-code-*.md.

#include <string>
#include <vector>

#include "model/finding.h"
#include "verify/elf/file_device_code.h"
#include "versions/cuda_archs.h"

namespace ptpkg::verify {

/// Names of the architectures that count for a file (elf::DeviceCode::EffectiveCode).
versions::DeviceArchitectures ArchitecturesOf(const elf::DeviceCode& code);

/// Each file with GPU code has exactly the architectures that are asked of it, machine code and PTX apart;
/// where any are asked for, some file of which they are asked has code, and so has one for each glob.
/// Findings: device-code-mismatch, device-code-absent, device-code-unreadable (an error for a file of which
/// something is asked, else a warning).
void CheckDeviceCode(const std::vector<FileDeviceCode>& files, const versions::DeviceCodeRequest& request,
                     std::vector<Finding>& findings);

}  // namespace ptpkg::verify
