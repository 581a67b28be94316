#pragma once
// Pairs the files of two artifacts. Layer: inspect.

#include <string>
#include <vector>

#include "inspect/side.h"

namespace ptpkg::inspect {

/// A file of two artifacts; at least one side is not null. The pointers borrow from the sides.
struct FilePair {
  std::string path;      ///< In the new artifact; of a removed file the old path.
  std::string old_path;  ///< Equal to `path` unless both sides have the file under different paths.
  const SideFile* before = nullptr;
  const SideFile* after = nullptr;
};

bool SameContent(const SideFile& before, const SideFile& after);

/// Every file of both sides once, sorted by path. Files with equal paths are a pair. These rules pair the
/// rest, in this order:
/// 1. The installed path without the version: of a wheel's .dist-info and .data, and below site-packages.
/// 2. The content, empty files aside.
/// 3. The installed directory and the name without hash; "libgeos-3ef06f11.so.3" is "libgeos.so".
/// 4. ELF files by their SONAME without hash and version.
/// 5. The name without hash.
/// Rules 1, 3 and 5 need one candidate on each side. Rules 2 and 4 take, of several, the pair of paths with
/// the longest common end.
std::vector<FilePair> PairFiles(const SideFiles& before, const SideFiles& after);

}  // namespace ptpkg::inspect
