#pragma once
// Creates errors for malformed ELF files. Layer: elf, internal to it.

#include <string>
#include <utility>

#include "support/error.h"

namespace ptpkg::elf {

inline Error Corrupt(std::string message) { return {ErrorCode::kCorrupt, std::move(message)}; }

}  // namespace ptpkg::elf
