#pragma once
// Counted things in messages. Layer: support.

#include <cstdint>
#include <string>
#include <string_view>

namespace ptpkg {

/// "1 file", "2 files", "3 entries": `noun` is an English one with a regular plural.
std::string Plural(std::uint64_t count, std::string_view noun);

}  // namespace ptpkg
