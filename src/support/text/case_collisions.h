#pragma once
// Finds names that collide on case-insensitive file systems. Layer: support.

#include <string>
#include <utility>
#include <vector>

namespace ptpkg {

/// Pairs of paths that a file system without case, as on macOS and Windows, takes for one: they
/// differ in the case of letters or in the composition of characters (é as one or two), or one is a directory
/// of the other's path then. The later path of `paths` comes second. Source: Unicode, case folding and NFC.
std::vector<std::pair<std::string, std::string>> CaseCollisions(const std::vector<std::string>& paths);

}  // namespace ptpkg
