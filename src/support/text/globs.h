#pragma once
// Matches a path against several globs. Layer: support.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "support/text/text.h"

namespace ptpkg {

inline bool MatchesAnyGlob(const std::vector<std::string>& globs, std::string_view path) {
  return std::ranges::any_of(globs, [&](const std::string& glob) { return GlobMatch(glob, path); });
}

}  // namespace ptpkg
