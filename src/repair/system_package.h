#pragma once
// Which package of the system a file belongs to. Layer: repair. Reads dpkg's lists; asks rpm where that is
// the system's. Source: dpkg-query(1), deb-status; package URLs: purl-spec, types deb and rpm.

#include <map>
#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::repair {

struct SystemPackage {
  std::string name;
  std::string version;  ///< With revision, and epoch if there is one.
  std::string url;      ///< "pkg:deb/debian/libgfortran5@12.2.0-14?arch=amd64"

  bool operator==(const SystemPackage&) const = default;
};

/// By path, of those of `files` that a package owns. `files`: paths without links; a package may call them by
/// the folders from before the merge of /usr. A machine without dpkg and rpm owns none. Errors: kIo, kCorrupt
/// (a list above 64 MiB), kCancelled.
Result<std::map<AbsPath, SystemPackage>> FindOwners(Env& env, const std::vector<AbsPath>& files);

}  // namespace ptpkg::repair
