#pragma once
// What a fuzzer of this folder consists of.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// One input. Returns 0; ends the process by abort when an invariant breaks.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace ptpkg::fuzz {

/// Inputs of the right kind, from which mutations begin. Used by the replay program.
std::vector<std::string> Seeds();

}  // namespace ptpkg::fuzz
