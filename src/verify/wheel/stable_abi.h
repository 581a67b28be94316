#pragma once
// Symbols of CPython's stable ABI. Layer: verify. Source: PEP 384, PEP 652; data/stable_abi.txt.

#include <optional>
#include <string_view>

namespace ptpkg::verify {

/// The minor version of Python 3 that added a function or datum to the stable ABI; nullopt: it is not in it.
std::optional<int> StableAbiSince(std::string_view symbol);

}  // namespace ptpkg::verify
