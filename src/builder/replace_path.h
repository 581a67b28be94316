#pragma once
// Finds one path in a file of any size, or replaces it by another of the same length. Layer: builder.

#include <string_view>

#include "support/env.h"

namespace ptpkg::builder {

struct PathReplacement {
  std::string_view from;
  std::string_view to;  ///< Same length as `from`, which is not empty.
};

/// Overwrites every `from` in the regular file by `to`, in place. Returns the number of places.
/// Reads in windows of 1 MiB: memory does not grow with the file. The file must not be hard-linked.
Result<std::size_t> ReplacePath(Fs& fs, const AbsPath& file, const PathReplacement& replacement);

/// True if the regular file contains `path`, which is not empty. Reads the file as ReplacePath does.
Result<bool> ContainsPath(Fs& fs, const AbsPath& file, std::string_view path);

}  // namespace ptpkg::builder
