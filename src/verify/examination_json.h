#pragma once
// JSON of examinations, shared by several documents. Layer: verify.

#include "elf/symbols/symbol_versions.h"
#include "support/text/json_fwd.h"
#include "verify/elf/file_device_code.h"
#include "verify/elf/file_needs.h"

namespace ptpkg::verify {

/// "needs"
Json FileNeedsToJson(const FileNeeds& file);
/// "device_code"
Json FileDeviceCodeToJson(const FileDeviceCode& file);

}  // namespace ptpkg::verify
