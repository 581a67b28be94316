#pragma once
// Validates file names in trees and archives. Layer: support.

#include <optional>
#include <string>
#include <string_view>

namespace ptpkg {

/// Why `path`, a name with '/' between its parts, cannot be a file that is packed or unpacked: control
/// characters, bytes that are not UTF-8, kNamePart, kName and kFolderDepth of limits.h. A phrase that follows
/// the name: "has a part of 300 bytes; file systems take 255". nullopt when nothing is wrong.
std::optional<std::string> NameProblem(std::string_view path);

/// Checks the depth alone.
std::optional<std::string> DepthProblem(std::string_view path);

/// A name for a message: printable, and cut when it is long.
std::string ShownName(std::string_view path);

}  // namespace ptpkg
