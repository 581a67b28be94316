#pragma once
// Matches a path against several globs. Layer: support.

#include <algorithm>
#include <string_view>

#include "support/text/text.h"

namespace ptpkg {

template <class Globs>
bool MatchesAnyGlob(const Globs& globs, std::string_view path) {
  return std::ranges::any_of(globs, [&](const auto& glob) { return GlobMatch(glob, path); });
}

}  // namespace ptpkg
