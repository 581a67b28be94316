#pragma once
// GPU code of one file. Layer: verify.

#include <string>

#include "elf/device/device_code.h"

namespace ptpkg::verify {

struct FileDeviceCode {
  std::string file;
  elf::DeviceCode code = {};
  std::string problem = {};  ///< Why the code is not known; then `code` is empty.
};

}  // namespace ptpkg::verify
