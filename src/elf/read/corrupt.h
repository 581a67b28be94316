#pragma once
// The error of what contradicts the format. Layer: elf, internal to it.

#include <string>
#include <utility>

#include "support/error.h"

namespace ptpkg::elf {

inline Error Corrupt(std::string message) { return {ErrorCode::kCorrupt, std::move(message)}; }

}  // namespace ptpkg::elf
