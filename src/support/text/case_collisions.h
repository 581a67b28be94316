#pragma once
// Finds names that collide on case-insensitive file systems. Layer: support.

#include <string>
#include <utility>
#include <vector>

namespace ptpkg {

/// Each path that differs from an earlier one in the case of its letters alone, behind that one. Compares A
/// to Z.
std::vector<std::pair<std::string, std::string>> CaseCollisions(const std::vector<std::string>& paths);

}  // namespace ptpkg
