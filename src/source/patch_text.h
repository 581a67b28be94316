#pragma once
// Which files a unified diff touches, read before anything is applied. Layer: source.

#include <string>
#include <string_view>
#include <vector>

#include "support/path.h"

namespace ptpkg::source {

/// The files that `patch -p1` would read, write, create or remove, in order, without repetitions.
/// `name` is the patch's file name, for messages.
/// Errors: kInvalidInput with the line: a path that is absolute, climbs out of the tree or has no folder to
/// strip; a hunk that is cut short; no change at all. kUnsupported: context diffs, ed scripts and binary
/// patches.
/// Source: POSIX diff -u output; git's extended headers (git-diff(1)).
Result<std::vector<RelPath>> PatchedFiles(std::string_view text, std::string_view name);

}  // namespace ptpkg::source
