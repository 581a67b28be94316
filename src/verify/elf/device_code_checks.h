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

/// Checks that each file with GPU code has exactly the requested architectures, with machine code and PTX
/// compared separately. If any are requested, at least one of the affected files must have code, and at least
/// one for each glob. Findings: device-code-mismatch, device-code-absent, device-code-unreadable (an error
/// for a file with a request, else a warning).
void CheckDeviceCode(const std::vector<FileDeviceCode>& files, const versions::DeviceCodeRequest& request,
                     std::vector<Finding>& findings);

}  // namespace ptpkg::verify
