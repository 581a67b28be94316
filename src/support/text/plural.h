#pragma once
// Formats counted nouns and name lists. Layer: support.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptpkg {

/// "1 file", "2 files", "3 entries": `noun` is an English one with a regular plural.
std::string Plural(std::uint64_t count, std::string_view noun);

/// The first `most` of `names`, and how many more there are: "'a', 'b' and 3 more".
std::string FirstNames(const std::vector<std::string>& names, std::size_t most);

}  // namespace ptpkg
